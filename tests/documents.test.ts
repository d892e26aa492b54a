import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { readdir, readFile } from "node:fs/promises"
import { dirname, join, relative } from "node:path"
import { load } from "js-yaml"
import { expect, test } from "vitest"
import { envNames } from "@/lib/env"
import { root } from "@/scripts/root"
import { isOfModule } from "./support/optional"

// Pages, headings, files, commands and variables that documents name exist.

const files = [...(await readdir(root)), ...(await readdir(join(root, "docs"))).map((file) => `docs/${file}`)]
const documents = await Promise.all(
  files
    .filter((file) => file.endsWith(".md"))
    .map(async (file) => ({ file, text: await readFile(join(root, file), "utf8") })),
)

const codeBlocks = /^ *```.*?^ *```$/gms

/** The anchors of the headings, as GitHub makes them. */
function anchorsOf(text: string): string[] {
  const seen = new Map<string, number>()
  return [...text.replaceAll(codeBlocks, "").matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => {
    const anchor = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-")
    const count = seen.get(anchor) ?? 0
    seen.set(anchor, count + 1)
    return count === 0 ? anchor : `${anchor}-${count}`
  })
}

/** The matches of `pattern` in the documents for which `isMissing` is true. */
function missing(pattern: RegExp, isMissing: (found: string, file: string) => boolean): string[] {
  return documents.flatMap(({ file, text }) =>
    [...text.matchAll(pattern)].flatMap(([, found = ""]) => (isMissing(found, file) ? [`${file}: ${found}`] : [])),
  )
}

test("each link leads to a file, and to a heading that it has", () => {
  const links = /\]\((?!https?:|mailto:)([^)\s]+)\)/g
  expect(documents.flatMap(({ text }) => [...text.matchAll(links)]).length).toBeGreaterThan(40)
  const broken = missing(links, (link, from) => {
    const [path = "", anchor] = link.split("#")
    const target = path === "" ? from : relative(root, join(root, dirname(from), path))
    if (!existsSync(join(root, target))) return true
    const document = documents.find(({ file }) => file === target)
    return anchor !== undefined && !(document && anchorsOf(document.text).includes(anchor))
  })
  expect(broken).toEqual([])
})

test("each named file exists, unless it belongs to a removed module", () => {
  const folders = "app|bench|components|docs|e2e|lib|ops|prisma|public|scripts|server|tests"
  const paths = new RegExp(`[\`\\s(]((?:${folders})/[\\w./[\\]-]*\\w)(?=[\`\\s),;:])`, "g")
  // The unit of systemd has the name of the product.
  const isMissing = (path: string) => !isOfModule(path) && !path.endsWith(".service") && !existsSync(join(root, path))
  // The commands of the tutorial write some of its files.
  expect(missing(paths, (path, file) => file !== "docs/tutorial.md" && isMissing(path))).toEqual([])
})

test("each test that proves a guarantee runs in npm test, and a plus marks a test that runs only a sample there", async () => {
  const guarantees = documents.find(({ file }) => file === "docs/security.md")?.text ?? ""
  const named = [...guarantees.matchAll(/`((?:app|e2e|lib|prisma|scripts|tests)\/[^`*]+)`(\+?)/g)].flatMap(
    ([, path = "", mark]) => ({ path, mark, files: testsAt(path) }),
  )
  const proving = named.filter(({ files }) => files.length > 0)
  expect(proving.length).toBeGreaterThan(100)
  expect(proving.some(({ files }) => files.length > 1)).toBe(true)
  const wrong = proving.flatMap(({ path, mark, files }) => {
    if (files.every(isLongOnly)) return [`${path} is in the long form only`]
    const samples = files.some(isSampled)
    return samples === (mark === "+") ? [] : [`${path} ${samples ? "runs a sample" : "runs whole"} in npm test`]
  })
  expect(wrong).toEqual([])
})

/** The test at a path, or the tests of a folder; empty for other files and for files of a removed module. */
function testsAt(path: string): string[] {
  const isTest = (name: string) => /\.(test|spec)\.tsx?$/.test(name)
  if (!existsSync(join(root, path))) return []
  if (!statSync(join(root, path)).isDirectory()) return [path].filter(isTest)
  return readdirSync(join(root, path), { encoding: "utf8", recursive: true })
    .filter(isTest)
    .map((name) => `${path}/${name}`)
}

function isLongOnly(file: string): boolean {
  const text = readFileSync(join(root, file), "utf8")
  return /^tests\/(?!http\/)\w+\//.test(file) || count(text, /\btest[.(]/g) <= count(text, longTag)
}

const longTag = /\b(?:tags: \["long"\]|tag: "@long")/g

function count(text: string, pattern: RegExp): number {
  return [...text.matchAll(pattern)].length
}

/** Whether a test, or a file that it imports from its folder, takes a sample or leaves tests to the long form. */
function isSampled(file: string): boolean {
  const text = readFileSync(join(root, file), "utf8")
  if (/from "(@\/tests\/support|\.)\/sample"/.test(text) || count(text, longTag) > 0) return true
  return [...text.matchAll(/from "\.\/([\w-]+)"/g)].some(([, name]) => {
    const beside = join(dirname(file), `${name}.ts`)
    return /^(tests|e2e)\//.test(beside) && existsSync(join(root, beside)) && isSampled(beside)
  })
}

test("each command exists", async () => {
  const { scripts } = JSON.parse(await readFile(join(root, "package.json"), "utf8"))
  expect(missing(/npm run ([\w:-]*\w)/g, (name) => !Object.hasOwn(scripts, name))).toEqual([])
})

test("the guide for deployments sets only variables that exist", () => {
  const guide = documents.find(({ file }) => file === "docs/deploy.md")?.text ?? ""
  const blocks = [...guide.matchAll(codeBlocks)].join("\n")
  const names = [...blocks.matchAll(/^[ (]*(?:(?:- \{ key: |echo ')?([A-Z][A-Z\d_]+))(?= ?=|,)/gm)].map(
    ([, name]) => name,
  )
  expect(new Set(names).size).toBeGreaterThan(10)
  const known = [...envNames, "MIGRATE_DATABASE_URL"]
  expect(names.filter((name) => !known.includes(name ?? ""))).toEqual([])
})

test("each event of the log is described", async () => {
  const sources = ["app", "lib", "server"].map(async (folder) => {
    const names = await readdir(join(root, folder), { recursive: true })
    return names.filter((name) => /(?<!\.test)\.tsx?$/.test(name)).map((name) => join(root, folder, name))
  })
  const texts = await Promise.all((await Promise.all(sources)).flat().map((file) => readFile(file, "utf8")))
  const logged = /log\(\)\s*\.(?:info|warn|error)\((?:(?!log\(\)).){0,400}?"([a-z]+_[a-z_]+)"\)/gs
  const events = texts.flatMap((text) => [...text.matchAll(logged)].map(([, event]) => event))
  expect(events.length).toBeGreaterThan(30)
  const operation = documents.find(({ file }) => file === "docs/operation.md")?.text
  expect(events.filter((event) => !operation?.includes(`\`${event}\``))).toEqual([])
})

test.each([
  ["README.md", 120, 1_100],
  ["AGENTS.md", 60, 700],
  ["STYLE.md", 70, 600],
  ["CONTRIBUTING.md", 100, 1_500],
])("%s has at most %i lines and %i words", (name, lines, words) => {
  const text = documents.find(({ file }) => file === name)?.text ?? expect.fail(`There is no ${name}.`)
  expect(text.trimEnd().split("\n").length).toBeLessThanOrEqual(lines)
  expect(text.split(/\s+/).filter((word) => /\w/.test(word)).length).toBeLessThanOrEqual(words)
})

test("the picture of the architecture shows every label of its text", async () => {
  const [source, picture] = await Promise.all(
    ["dot", "svg"].map((type) => readFile(join(root, `docs/architecture.${type}`), "utf8")),
  )
  const labels = [...String(source).matchAll(/label="([^"]+)"/g)].flatMap(([, label = ""]) => label.split("\\n"))
  const shown = String(picture).replaceAll("&#39;", "'").replaceAll("&lt;", "<").replaceAll("&gt;", ">")
  expect(labels.length).toBeGreaterThan(10)
  expect(labels.filter((label) => !shown.includes(`>${label}<`))).toEqual([])
})

test("the workflow runs the commands of CI on every supported version of Node, and dependabot reads this project", async () => {
  const read = (file: string) => readFile(join(root, file), "utf8")
  const { engines, scripts } = JSON.parse(await read("package.json"))
  const { jobs } = load(await read(".github/workflows/ci.yml")) as {
    jobs: Record<string, { steps: { run?: string }[]; strategy?: { matrix: { node: number[] } } }>
  }
  const commands = (name: string) => (jobs[name]?.steps ?? []).flatMap(({ run }) => run ?? [])
  expect(commands("test")).toEqual([".ci/run"])
  expect(await read(".ci/run")).toMatch(/\nnpm test\n$/)
  expect(commands("long")).toContain("npm run test:long")
  const named = Object.keys(jobs)
    .flatMap(commands)
    .flatMap((command) => command.match(/(?<=npm run )[\w:-]+/g) ?? [])
  expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([])
  const supported = [...engines.node.matchAll(/\d+(?=\.\d+\.\d+)/g)].map(([major]) => Number(major))
  expect(jobs.test?.strategy?.matrix.node).toEqual(supported)
  expect(supported).toContain(Number(await read(".nvmrc")))
  expect(load(await read(".github/dependabot.yml"))).toMatchObject({ updates: [{ "package-ecosystem": "npm" }, {}] })
})
