import { expect, test } from "vitest"
import { newSecret } from "@/lib/keys/secret"
import { gitleaksToml } from "@/lib/leaks/pattern"
import { keyPrefixes } from "@/lib/product"
import { type Surface, surfaces } from "@/lib/surfaces"
import { GET } from "./route"

const response = await GET(new Request("http://localhost:3000/api/v1/secret-pattern.json"))
const { report, documentation, gitleaks, github } = await response.json()

/** Where keys are found: configuration, code, logs in JSON, notebooks, URLs, documents. */
function places(key: string): string[] {
  const log = JSON.stringify({ text: `first\n${key}\tlast` })
  return [
    ...[key, `KEY=${key}\n`, `"${key}"`, `Bearer ${key},`, `https://host/?key=${key}&a`, `a${key}`, `_${key}_`],
    ...[log, JSON.stringify({ log }), `%0A${key}%0A`, `=3D${key}=3D`, `\\u000a${key}\\u003c`, `<b>${key}</b>`],
    JSON.stringify({ cells: [{ source: [`%env KEY=${key}\n`, `\tprint("${key}")`] }] }),
  ]
}

/** Whether the expression finds exactly the key in texts around it. */
function finds(source: string, key: string): boolean {
  return places(key).every((text) => new RegExp(source).exec(text)?.[0] === key)
}

test("the document is public, cacheable and says where to report", () => {
  expect([response.status, response.headers.get("cache-control")]).toEqual([200, "public, max-age=300"])
  expect(report).toBe("http://localhost:3000/api/leaks")
  expect(documentation).toBe("http://localhost:3000/docs/leaks")
  expect(github.map(({ endpoint }: { endpoint: string }) => endpoint)).toEqual([
    "http://localhost:3000/api/leaks/github",
    "http://localhost:3000/api/leaks/github",
  ])
})

test.each(surfaces)(
  "the expressions find keys of the surface %s under every prefix, in any text around them, and nothing shorter",
  (surface: Surface) => {
    const expressions = [gitleaks.regex, github[surfaces.indexOf(surface)].pattern]
    for (const prefix of keyPrefixes[surface]) {
      const key = newSecret(surface).replace(/^.*_/, prefix)
      for (const source of expressions) {
        expect(finds(source, key)).toBe(true)
        expect(new RegExp(source).test(key.slice(0, -1))).toBe(false)
      }
      // gitleaks looks for the keywords in lower case, before the expression.
      expect(gitleaks.keywords.some((word: string) => key.toLowerCase().includes(word))).toBe(true)
    }
    const other = github.filter((_: unknown, index: number) => index !== surfaces.indexOf(surface))
    for (const { pattern } of other) expect(new RegExp(pattern).test(newSecret(surface))).toBe(false)
  },
)

test("the expressions have no lookaround and no backreference, which RE2 and Hyperscan lack", () => {
  for (const source of [gitleaks.regex, ...github.map(({ pattern }: { pattern: string }) => pattern)]) {
    expect(source).not.toMatch(/\(\?[=!<]|\\[1-9]/)
  }
})

test("the section for .gitleaks.toml contains the same rule", () => {
  expect(gitleaksToml).toContain(`regex = '''${gitleaks.regex}'''`)
  expect(gitleaksToml).toContain(`id = "${gitleaks.id}"`)
})
