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

// Constructions that are read twice, and what to write instead. STYLE.md quotes some of them.
const constructions: readonly [construction: RegExp, advice: string][] = [
  [/\b(whoever|whomever)\b/i, "name the actor"],
  [/\b(whatever|whichever)\b(?! is more)/i, "a noun with any, each or regardless of"],
  [/\b(of|from|for|with|by|in|on|than|about|but|besides|after|before) what\b(?! (is|are)\?)/i, "a noun"],
  [/(\/\/|\/\*\*|^ *\*|^-) What (?!.*\?)/, "a noun"],
  [/\bthat which\b/i, "a noun"],
  [/\bthose (that|who|which|of)\b/i, "repeat the noun"],
  [/\b(some|one|all|both|each|most|none|many|two|three) of which\b/i, "a sentence of its own"],
  [/\b(is|are|was|were) (not )?to be\b/i, "must, will or should"],
  [/\b(found|finds?|finding) out\b/i, "detected, learns"],
  [/\bbesides\b/i, "also, in addition to, except"],
  [/\bmeanwhile\b/i, "while, until then, during"],
  [/\banew\b/i, "again"],
  [/\b(hence|thereby|therein|thereof|wherein|whereby|herewith|insofar)\b/i, "a plain conjunction"],
  [/\blikewise\b/i, "also"],
  [/\bthe (former|latter)\b/i, "repeat the noun"],
  [/\bnothing but\b/i, "only"],
  [/\bnot only\b/i, "a second sentence"],
  [/\bone another\b/i, "each other"],
  [/\b(and|or) the like\b|\bthe same is true\b/i, "name them"],
  [/\b(is|are|was|were) not un(?!d|til|less|ique)[a-z]+/i, "the positive word"],
  [/\b(nobody|nothing|never|no one)\b[^.;:,]{1,40}\b(not|without)\b(?! null)/i, "one negation"],
  [/\b(of|is|are) ours\b/i, "name the owner"],
  [/\beverybody\b/i, "everyone"],
  [/\blesser\b/i, "alternative, smaller"],
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

test("comments, documents, titles and messages contain none of the constructions that are read twice", async () => {
  const files = (await sources()).filter((file) => file !== "STYLE.md")
  const findings = await Promise.all(
    files.map(async (file) => {
      const lines = (await readFile(join(root, file), "utf8")).split("\n")
      return lines.flatMap((line, index) =>
        constructions
          .filter(([construction]) => construction.test(line))
          .map(([construction, advice]) => `${file}:${index + 1}: ${construction}: ${advice}: ${line.trim()}`),
      )
    }),
  )
  expect(findings.flat()).toEqual([])
})

test.each([
  ["Whoever can, is found out."],
  ["refused, whatever it contains"],
  ["the rows of what was deleted"],
  ["/** What the export does. */"],
  ["keys and those of the owner"],
  ["The account is not to be deleted."],
  ["It is counted anew."],
  ["Nobody sees it without a session"],
])("%s is found, too", (text) => {
  expect(constructions.some(([construction]) => construction.test(text))).toBe(true)
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
