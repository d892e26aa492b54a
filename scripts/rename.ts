import { existsSync } from "node:fs"
import { readdir, readFile, rename, writeFile } from "node:fs/promises"
import { join, relative } from "node:path"
import { parseArgs } from "node:util"
import type { Surface } from "@/lib/surfaces"
import { format } from "./package-program"
import { root } from "./root"

// Changes lib/product.ts and the files that cannot read it: package.json, the documents, the example responses and ops.

const usage = `npm run rename -- SLUG "NAME" [--keep-keys]

  SLUG         2 to 12 lower-case letters and digits, the first a letter
  NAME         at most 40 characters, without quotation marks and backslashes
  --keep-keys  keys issued under the current prefixes keep working`

const { positionals, values } = parseArgs({ allowPositionals: true, options: { "keep-keys": { type: "boolean" } } })
const [slug = "", name = "", ...rest] = positionals
if (!/^[a-z][a-z0-9]{1,11}$/.test(slug)) fail(`"${slug}" is not a SLUG.`)
if (!/^[^\s\p{Cc}"\\][^\p{Cc}"\\]{0,39}$/u.test(name)) fail(`"${name}" is not a NAME.`)
if (rest.length > 0) fail("Put a NAME of several words in quotation marks.")

const source = await readFile(join(root, "lib/product.ts"), "utf8")
const old = { admin: listed("admin"), user: listed("user") }
const [, oldSlug = ""] = lineOf("slug").exec(source)?.[1]?.split('"') ?? []
const prefixes = { admin: `${slug}_adm_`, user: `${slug}_usr_` }

const sources = await filesBelow("app", "components", "lib", "server")
/** Files that name the product and cannot read lib/product.ts. Changelog, migrations and tests keep the keys of their time. */
const named = [
  ...(await readdir(root)).filter((file) => file.endsWith(".md") && file !== "CHANGELOG.md"),
  // The tutorial has names of its own.
  ...(await filesBelow("docs")).filter((file) => file.endsWith(".md") && file !== "docs/tutorial.md"),
  ...(await filesBelow("ops")),
  ...sources.filter((file) => file.endsWith("/example.json")),
]
const texts = sources.filter((file) => /(?<!\.test|\.spec)\.tsx?$/.test(file) && file !== "lib/product.ts")
if (slug !== oldSlug) await refuseWordsOf([...named, ...texts])

await edit("lib/product.ts", (text) =>
  text
    .replace(lineOf("name"), () => `  name: "${name}",`)
    .replace(lineOf("slug"), `  slug: "${slug}",`)
    .replace(lineOf("admin"), `  admin: [${quotedList("admin")}],`)
    .replace(lineOf("user"), `  user: [${quotedList("user")}],`),
)
// Imported only now, because the demo's keys follow from lib/product.ts.
const { kinds } = await import("@/lib/surfaces")
const { demoAccounts, demoKey } = await import("@/lib/process/demo-accounts")
if (kinds.user.prefix !== prefixes.user) throw new Error("Each field of lib/product.ts must be on a line of its own.")

await edit("package.json", (text) => text.replace(lineOf('"name"'), `  "name": "${slug}",`))
await edit("package-lock.json", (text) =>
  text.replace(lineOf('"name"'), `  "name": "${slug}",`).replace(/^( {4}"": \{\n {6}"name": )".*"/m, `$1"${slug}"`),
)
await edit("README.md", (text) => {
  const printed = new RegExp(`${old.user[0]}\\w{49}`)
  const [member = fail("The demo has no accounts.")] = demoAccounts
  return text.replace(/^# .*$/m, () => `# ${name}`).replace(printed, demoKey(member))
})
for (const file of named) await edit(file, withNewSlug)
const unit = join(root, `ops/${oldSlug}.service`)
if (existsSync(unit)) await rename(unit, join(root, `ops/${slug}.service`))
format(["lib/product.ts", "package.json", ...named.filter((file) => /\.(md|ts)$/.test(file))])
console.log(`The product is called ${name} now. \`npm run demo -- --reset\` starts it with new data and keys.
The pictures of README.md and of /for-operators show the old name: \`npm run screens\` takes them again.`)

function fail(problem: string): never {
  console.error(`${problem}\n\n${usage}`)
  process.exit(1)
}

/** A line of lib/product.ts or package.json, by the name of its field. */
function lineOf(field: string): RegExp {
  return new RegExp(`^ {2}${field}: (.*),$`, "m")
}

function listed(surface: Surface): string[] {
  const list = lineOf(surface).exec(source)?.[1] ?? ""
  return [...list.matchAll(/\w+/g)].map(([prefix]) => prefix)
}

function quotedList(surface: Surface): string {
  const kept = values["keep-keys"] ? old[surface].filter((prefix) => prefix !== prefixes[surface]) : []
  return [prefixes[surface], ...kept].map((prefix) => `"${prefix}"`).join(", ")
}

async function edit(file: string, change: (text: string) => string): Promise<void> {
  const text = await readFile(join(root, file), "utf8")
  await writeFile(join(root, file), change(text))
}

function withNewSlug(text: string): string {
  return text.replaceAll(wordOf(oldSlug), slug)
}

/** The slug as a word, or at the beginning of a longer name such as that of a metric. */
function wordOf(slug: string): RegExp {
  return new RegExp(`\\b${slug}(?![a-z0-9])`, "gi")
}

async function filesBelow(...folders: readonly string[]): Promise<string[]> {
  const found = folders.map(async (folder) => {
    const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true })
    return entries
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => relative(root, join(parentPath, name)))
  })
  return (await Promise.all(found)).flat()
}

/** The next rename could not tell an existing word with the new slug from the product. */
async function refuseWordsOf(files: readonly string[]): Promise<void> {
  for (const file of files) {
    if (wordOf(slug).test(await readFile(join(root, file), "utf8")))
      fail(`${file} has the word "${slug}". Choose another SLUG: a later rename could not tell it from the product.`)
  }
}
