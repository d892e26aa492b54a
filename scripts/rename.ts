import { readdir, readFile, rename, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { parseArgs } from "node:util"
import type { Surface } from "@/lib/surfaces"
import { root } from "./root"

// Changes lib/product.ts and what cannot read it: package.json, README.md, the example responses and ops.

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
await edit("README.md", (text) => {
  const printed = new RegExp(`${old.user[0]}\\w{49}`)
  const [member = fail("The demo has no accounts.")] = demoAccounts
  return withNewPrefixes(text.replace(/^# .*$/m, () => `# ${name}`).replace(printed, demoKey(member)))
})
for (const file of await readdir(join(root, "app"), { recursive: true })) {
  if (file.endsWith("/example.json")) await edit(`app/${file}`, withNewPrefixes)
}
const { metrics } = await import("@/lib/platform/telemetry/metrics")
await edit("ops/alerts.yaml", (text) =>
  withNewMetrics(text)
    .replace(`  - name: ${oldSlug}\n`, `  - name: ${slug}\n`)
    .replaceAll(`{job="${oldSlug}"}`, `{job="${slug}"}`),
)
await edit("ops/grafana-dashboard.json", (text) =>
  withNewMetrics(text)
    .replace(lineOf('"uid"'), `  "uid": "${slug}",`)
    .replace(lineOf('"title"'), `  "title": "${slug}",`),
)
await rename(join(root, `ops/${oldSlug}.service`), join(root, `ops/${slug}.service`))
console.log(`The product is called ${name} now. \`npm run demo -- --reset\` starts it with new data and keys.`)

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

function withNewPrefixes(text: string): string {
  const [admin = prefixes.admin] = old.admin
  const [user = prefixes.user] = old.user
  return text.replaceAll(admin, prefixes.admin).replaceAll(user, prefixes.user)
}

/** Only the metrics of the product: its slug may be a word of PromQL, or the beginning of a metric of Node. */
function withNewMetrics(text: string): string {
  const names = metrics()
    .registry.getMetricsAsArray()
    .flatMap(({ name }) => (name.startsWith(`${slug}_`) ? name.slice(slug.length + 1) : []))
  return text.replaceAll(new RegExp(`\\b${oldSlug}_(?=(${names.join("|")}))`, "g"), `${slug}_`)
}
