import { readdir, readFile } from "node:fs/promises"
import { join, relative } from "node:path"
import { beforeAll, describe, expect, test } from "vitest"
import { GET as metrics } from "@/app/api/v1/admin/metrics/route"
import { demoAccounts, demoKey } from "@/lib/demo-accounts"
import { db } from "@/lib/postgres/prisma"
import { seed } from "@/prisma/seed"
import { root } from "@/scripts/root"
import { ownerPool } from "@/tests/support/owner"
import { foldersOf, modules, optional, serveChangedCopy, sessionInCopy, testChangedCopy } from "./support/changed-copy"
import { crawl } from "./support/crawl"

// An optional module is removed by deleting the folders with its name and nothing else. These tests do so in a copy: see
// support/changed-copy.ts.

/** Matches a URL or an import of these modules, except for imports from lib. */
const naming = (names: readonly string[]) => new RegExp(`(?<!/lib)/(${names.join("|")})\\b`)

// No module depends on another, so a copy without all of them also covers the removal of a single one.
test("no page, component or endpoint refers to a module outside the module's own folders", async () => {
  const files = (await Promise.all(["app", "components"].map(filesBelow))).flat()
  const sources = files.filter((file) => !/\.(test|spec)\.tsx?$/.test(file))
  expect(sources.length).toBeGreaterThan(50)
  const named = await Promise.all(
    sources.map(async (file) => {
      const text = await readFile(join(root, file), "utf8")
      const others = optional.filter((name) => !foldersOf(name).some((folder) => file.startsWith(`${folder}/`)))
      return others.filter((name) => naming([name]).test(text)).map((name) => `${file} names ${name}`)
    }),
  )
  expect(named.flat()).toEqual([])
})

test("the tests of the remaining endpoints and documents pass, and with another name those of keys and emails", () =>
  testChangedCopy(
    ...["contract", "examples", "openapi", "skill", "index.json"],
    ...["lib/product", "lib/keys/secret", "lib/input/text", "lib/email", "lib/api/query", "demo-accounts"],
  ))

describe("a copy without any optional module, built and served", () => {
  let base = ""
  let cookie = ""
  const owner = demoAccounts.find(({ role }) => role === "owner") ?? expect.fail()
  const headers = { Authorization: `Bearer ${demoKey(owner)}` }

  beforeAll(async () => {
    const server = await serveChangedCopy()
    base = server.base
    await seed(ownerPool(), { users: 30, now: new Date() })
    const admin = await db().user.findUniqueOrThrow({ where: { email: "admin@example.com" } })
    cookie = await sessionInCopy(admin)
    return server.stop
  })

  test.each(modules)(
    "the endpoint of %s returns 404 in the envelope, even to a caller with the permission",
    async (name) => {
      expect((await fetch(`${base}/api/v1/admin/users`, { headers })).status).toBe(200)
      const response = await fetch(`${base}/api/v1/admin/${name}`, { headers })
      expect(response.status).toBe(404)
      expect(await response.json()).toEqual({ error: { code: "not_found", message: expect.any(String) } })
    },
  )

  test("the remaining measures can be asked for, and those of removed modules are gone", async () => {
    const families = (metrics.endpoint.families ?? []).map(({ family }) => family)
    expect(families.map(({ name }) => name)).toEqual(expect.arrayContaining(modules))
    for (const { name, measures } of families) {
      const search = `measure=${Object.keys(measures).join()}&since=2026-01-01&until=2026-01-31`
      const response = await fetch(`${base}/api/v1/admin/metrics?${search}`, { headers })
      expect(response.status, name).toBe(modules.includes(name) ? 400 : 200)
      const text = await response.text()
      for (const removed of modules) expect(text).not.toContain(`${removed} (`)
    }
  })

  test.each(modules.flatMap((name) => [`/admin/${name}`, `/${name}`]))("the page %s returns 404", async (path) => {
    expect((await fetch(base + path, { headers: { cookie } })).status).toBe(404)
  })

  test("no page links to a removed module", async () => {
    const reached = [...(await crawl(base, "/")), ...(await crawl(base, "/admin", cookie))]
    expect(reached.map(([path]) => path)).toEqual(expect.arrayContaining(["/sign-up", "/admin/orders", "/api-keys"]))
    const wrong = reached.filter(([path, { status }]) => status >= 400 || naming(optional).test(path))
    expect(wrong.map(([path, { status }]) => [path, status])).toEqual([])
  })

  test.each(["/api/v1/openapi.json", "/api/v1/admin/skill.md", "/llms.txt", "/.well-known/agent-skills/index.json"])(
    "%s does not mention removed modules",
    async (path) => {
      const response = await fetch(base + path)
      expect(response.status).toBe(200)
      expect(await response.text()).not.toMatch(naming(optional))
    },
  )
})

async function filesBelow(directory: string): Promise<string[]> {
  const entries = await readdir(join(root, directory), { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => relative(root, join(parentPath, name)))
}
