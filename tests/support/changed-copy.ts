import { copyFile, rm } from "node:fs/promises"
import { join } from "node:path"
import { cookieName } from "@/lib/platform/http/cookies"
import { collect, waitForServer } from "@/scripts/build-and-serve"
import { freePort } from "@/scripts/postgres"
import { root } from "@/scripts/root"
import { sessionOf } from "./client"
import { copySources, start, succeeds } from "./copy"
import { checkTypes, foldersOf, modules } from "./optional"

// A copy of the sources as a team changes them: with another name, other metered work and without the optional modules.
// The tests of these changes share it, because its build takes a minute.

const folder = "changed"
export const changedCopy = join(root, ".data", folder)

export const renamed = { slug: "renamed", name: "Renamed Works" }

/** Makes and builds the copy, and returns a function that deletes it. */
export async function buildChangedCopy(): Promise<() => Promise<void>> {
  await copySources(folder)
  await succeeds(changedCopy, "tsx/dist/cli.mjs", ["scripts/rename.ts", renamed.slug, renamed.name, "--keep-keys"])
  for (const folder of modules.flatMap(foldersOf)) await rm(join(changedCopy, folder), { recursive: true })
  const run = join(changedCopy, "app/api/v1/me/run")
  await copyFile(join(root, "tests/support/other-work.ts"), join(run, "route.ts"))
  for (const file of ["digest.ts", "digest.test.ts"]) await rm(join(run, file))
  // The others say what a call needs.
  await testChangedCopy("examples", "--update", "--testNamePattern=/api/v1/me/(run|key|credits)'")
  await checkTypes(changedCopy)
  await succeeds(changedCopy, "tsx/dist/cli.mjs", ["tests/support/build.ts"])
  return () => rm(changedCopy, { recursive: true })
}

/** Runs unit tests of the copy. */
export function testChangedCopy(...args: readonly string[]): Promise<void> {
  return succeeds(changedCopy, "vitest/vitest.mjs", ["run", "--project=unit", "--reporter=dot", ...args])
}

/** Fills the database of the test file with the demo's data, as the copy makes it: the keys have its own prefix. */
export async function seedChangedCopy(): Promise<void> {
  await succeeds(changedCopy, "tsx/dist/cli.mjs", ["scripts/seed.ts"], { SEED_USERS: "30" })
}

/** Runs a browser test of the copy, with a server and a database of its own. */
export async function tellStory(file: string): Promise<void> {
  await succeeds(changedCopy, "@playwright/test/cli.js", ["test", file], { E2E_PORT: String(await freePort()) })
}

/** The Cookie header of a session at the copy: its cookies have its own name. */
export async function sessionInCopy(user: { id: string }): Promise<string> {
  return (await sessionOf(user)).replace(cookieName("session"), `${renamed.slug}.session`)
}

/** Serves the copy with the database of the test file. */
export async function serveChangedCopy(variables: Record<string, string> = {}) {
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
