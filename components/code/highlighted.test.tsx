import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { renderToStaticMarkup } from "react-dom/server"
import { expect, test } from "vitest"
import { readImports } from "@/scripts/imports"
import { root } from "@/scripts/root"
import { Highlighted } from "./highlighted"

test("strings, keywords and numbers are marked by elements, and nothing else is", () => {
  const html = renderToStaticMarkup(<Highlighted language="json">{'{ "text": "a", "n": 12, "ok": true }'}</Highlighted>)
  expect(html).toBe(
    '<code class="code">{ &quot;text&quot;: <i>&quot;a&quot;</i>, &quot;n&quot;: <b>12</b>, &quot;ok&quot;: <b>true</b> }</code>',
  )
})

test.each([
  ["shell", `curl "https://a.example/b?c=<d>" \\\n  -d '{"text":"\\u0027"}' # a comment\n\nexport A && read -rs B\n`],
  ["javascript", `const { a } = await f(\`Bearer \${process.env.KEY}\`) // <b>\nif (!a) throw new Error("x")`],
  ["python", 'with open("a") as b:\n    print({"a": 1.5}, None)\n\n'],
  ["json", '{\n  "a": [1, -2.5, null, "&amp;", "é"]\n}'],
] as const)("the text of highlighted %s is the code itself", (language, code) => {
  const html = renderToStaticMarkup(<Highlighted language={language}>{code}</Highlighted>)
  const entities = { lt: "<", gt: ">", amp: "&", quot: '"', "#x27": "'" } as const
  const text = html
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll(/&([^;]+);/g, (_, name: keyof typeof entities) => entities[name])
  expect(text).toBe(code)
})

test("no client component imports the highlighter, so that no browser loads it", async () => {
  const imports = (await readImports()).filter(({ from }) => /^(app|components|lib)\//.test(from))
  const reaching = new Set(["components/code/highlighted"])
  for (const file of reaching) {
    for (const { from, to } of imports) if (to === file) reaching.add(from.replace(/\.tsx?$/, ""))
  }
  const files = [...new Set(imports.map(({ from }) => from))].filter((file) =>
    reaching.has(file.replace(/\.tsx?$/, "")),
  )
  const found = files.map(async (file) =>
    (await readFile(join(root, file), "utf8")).startsWith('"use client"') ? [file] : [],
  )
  expect((await Promise.all(found)).flat()).toEqual([])
  expect(files).toContain("components/code/code-panel.tsx")
})
