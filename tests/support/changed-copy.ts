import { existsSync } from "node:fs"
import { readdir, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { cookieName } from "@/lib/platform/http/cookies"
import { product } from "@/lib/product"
import { collect, waitForServer } from "@/scripts/build-and-serve"
import { freePort } from "@/scripts/postgres"
import { root } from "@/scripts/root"
import { sessionOf } from "./client"
import { copySources, start, succeeds } from "./copy"
import { foldersOf, modules } from "./optional"
import { ownerUrl } from "./owner"

// A copy of the product as a team changes it, with everything at once that README and CONTRIBUTING say how to change. All
// tests pass in the copy: one that fails depends on a fact that a team may change.

export const changedCopy = join(root, ".data/changed")

const names = [
  { slug: "acmex", name: "Acmex Works" },
  { slug: "bcmex", name: "Bcmex Works" },
] as const

/** The tests of the copy make a copy of it, so no name below is taken. */
export const renamed = names[product.slug === names[0].slug ? 1 : 0]

export async function makeChangedCopy(): Promise<void> {
  await copySources("changed")
  await succeeds(changedCopy, "tsx/dist/cli.mjs", ["scripts/rename.ts", renamed.slug, renamed.name, "--keep-keys"])
  for (const folder of modules.flatMap(foldersOf)) await rm(join(changedCopy, folder), { recursive: true })
  await change(
    "lib/product.ts",
    /(plans: .* = )\[[^\]]*\]/,
    '$1[{ slug: "solo", name: "Solo", amount: 1_250, credits: 90 }]',
  )
  await change("lib/product.ts", /(creditPacks: .* = )\[[^\]]*\]/, "$1[{ credits: 70, amount: 1_999 }]")
  await change("lib/product.ts", /accentHue: \d+/, "accentHue: 30")
  await replaceWork()
  await addOwn()
}

async function replaceWork(): Promise<void> {
  const work = await readFile(join(root, "tests/support/other-work.ts"), "utf8")
  const folder = join(changedCopy, "app/api/v1/me/run")
  for (const file of await readdir(folder)) if (file !== "example.json") await rm(join(folder, file))
  await writeFile(join(folder, "route.ts"), work)
}

/** One of everything that `npm run new` writes. */
async function addOwn(): Promise<void> {
  const plural = free("holidays", (name) => existsSync(join(changedCopy, `app/admin/${name}`)))
  const single = free("about", (name) => existsSync(join(changedCopy, `app/account/${name}`)))
  const columns = ["title:text", "size:number", "sent_at:time", "status:draft,sent"]
  const items = {
    table: [plural, ...columns],
    form: [plural],
    deletion: [plural],
    metered: [single],
    page: [single],
    email: [single],
    module: [`of_${plural}`],
  }
  await succeeds(changedCopy, "tsx/dist/cli.mjs", ["scripts/new.ts", ...Object.entries(items).flat(2)], {
    WITHOUT_EXAMPLES: "1",
  })
}

function free(name: string, isTaken: (name: string) => boolean): string {
  return isTaken(name) ? free(`more_${name}`, isTaken) : name
}

async function change(file: string, pattern: RegExp, replacement: string): Promise<void> {
  const text = await readFile(join(changedCopy, file), "utf8")
  if (!pattern.test(text)) throw new Error(`${file} has nothing that matches ${pattern}.`)
  await writeFile(join(changedCopy, file), text.replace(pattern, replacement))
}

/** Runs unit tests of the copy. */
export function testChangedCopy(...args: readonly string[]): Promise<void> {
  return succeeds(changedCopy, "vitest/vitest.mjs", ["run", "--project=unit", "--reporter=dot", ...args])
}

/** The copy has tables of its own. */
async function migrateForCopy(): Promise<void> {
  await succeeds(changedCopy, "tsx/dist/cli.mjs", ["scripts/migrate.ts"], { MIGRATE_DATABASE_URL: ownerUrl() })
}

/** Fills the database of the test file with the demo's data, as the copy makes it: the keys have its own prefix. */
export async function seedChangedCopy(): Promise<void> {
  await migrateForCopy()
  await succeeds(changedCopy, "tsx/dist/cli.mjs", ["scripts/seed.ts"], { SEED_USERS: "30" })
}

/** The Cookie header of a session at the copy: its cookies have its own name. */
export async function sessionInCopy(user: { id: string }): Promise<string> {
  return (await sessionOf(user)).replace(cookieName("session"), `${renamed.slug}.session`)
}

/** Serves the copy with the database of the test file. */
export async function serveChangedCopy(variables: Record<string, string> = {}) {
  await migrateForCopy()
  const port = await freePort()
  const base = `http://localhost:${port}`
  const server = start(changedCopy, join(changedCopy, "dist/main.js"), [], {
    NODE_ENV: "production",
    BASE_URL: base,
    DEMO: "on",
    PORT: String(port),
    HOST: "127.0.0.1",
    ...variables,
  })
  const output = collect(server)
  if (!(await waitForServer(server, base))) throw new Error(output())
  return { base, output, stop: server.stop }
}
