import { readdir, readFile } from "node:fs/promises"
import { join, relative } from "node:path"
import { expect, test } from "vitest"
import { product } from "@/lib/product"
import { root } from "@/scripts/root"

// One word for one thing: synonyms that a reader would have to translate, and the word to write instead.
const banned: readonly [synonym: RegExp, word: string][] = [
  [/\b(the|this|that|welcome|reset) letters?\b/i, "email"],
  [/\be-mails?\b/i, "email"],
  [/\bcrowd(s|ed|ing)?\b/i, "overloaded, load shedding"],
  [/\banswer(s|ed|ing)?\b(?! (questions|a question))/i, "response, respond, return"],
  [/\bstrangers?\b/i, "unauthenticated caller"],
  [/\bdeeds?\b/i, "action"],
  [/\bentrance\b/i, "sign-in"],
  [/\bpatrons?\b/i, "account"],
  [/\bvictims?\b/i, "server, database"],
  [/\blast words\b/i, "final response"],
  [/\bby mail\b/i, "by email"],
  [/\b(began|begun)\b(?!")/i, "started"],
  [/\bspec section\b/i, "the rule itself"],
]

const folders = ["app", "components", "lib", "server", "scripts", "prisma", "tests", "e2e", "bench", "docs"]
const documents = ["README.md", "AGENTS.md", "STYLE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
/** This list itself, applied migrations, and packages. */
const excluded = /tests\/words\.test\.ts$|^prisma\/migrations\/|node_modules|^bench\/rivals\//

async function sources(): Promise<string[]> {
  const entries = await Promise.all(
    folders.map((folder) => readdir(join(root, folder), { recursive: true, withFileTypes: true })),
  )
  const files = entries.flat().filter((entry) => entry.isFile())
  const names = files.map(({ parentPath, name }) => relative(root, join(parentPath, name)))
  return [...documents, ...names].filter((file) => /\.(tsx?|mjs|md|prisma)$/.test(file) && !excluded.test(file))
}

/** Names in camel and snake case are read word by word. */
function wordsOf(text: string): string {
  return text
    .replaceAll("_", " ")
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replaceAll(/[a-z]+\.(began|begun)/g, "")
}

test("pages, messages, emails, documents, comments and names use one word for one thing", async () => {
  const files = await sources()
  expect(files.length).toBeGreaterThan(300)
  const findings = await Promise.all(
    files.map(async (file) => {
      const lines = (await readFile(join(root, file), "utf8")).split("\n")
      return lines.flatMap((line, index) =>
        banned
          .filter(([synonym]) => synonym.test(wordsOf(line)))
          .map(([synonym, word]) => `${file}:${index + 1}: write "${word}", not ${synonym}: ${line.trim()}`),
      )
    }),
  )
  expect(findings.flat()).toEqual([])
})

test.each([
  ["the letter was sent"],
  ["an e-mail"],
  ["how the API answers"],
  ["function answerFor()"],
  ["isCrowded()"],
  ["a session that was begun"],
])("%s is found", (text) => {
  expect(banned.some(([synonym]) => synonym.test(wordsOf(text)))).toBe(true)
})

/** The name of the product as a word, or at the beginning of a longer name such as that of a metric. */
const productName = new RegExp(`\\b${product.slug}(?![a-z])`, "i")

test("no source of the product but lib/product.ts contains its name", async () => {
  const shipped = (await sources()).filter((file) =>
    /^(app|components|lib|server)\/.*(?<!\.test|\.spec)\.tsx?$/.test(file),
  )
  const files = [...shipped, "Dockerfile", "compose.yaml"].filter((file) => file !== "lib/product.ts")
  expect(files.length).toBeGreaterThan(300)
  const texts = await Promise.all(files.map((file) => readFile(join(root, file), "utf8")))
  expect(files.filter((_, index) => productName.test(texts[index] ?? ""))).toEqual([])
})
