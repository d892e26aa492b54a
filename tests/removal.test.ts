import { beforeAll, describe, expect, test } from "vitest"
import { GET as metrics } from "@/app/api/v1/admin/metrics/route"
import { db } from "@/lib/platform/postgres/prisma"
import { demoAccounts, demoKey } from "@/lib/process/demo-accounts"
import { seed } from "@/prisma/seed"
import { ownerPool } from "@/tests/support/owner"
import { serveChangedCopy, sessionInCopy } from "./support/changed-copy"
import { crawl } from "./support/crawl"
import { endpointsOf, modules, namesOf, optional } from "./support/optional"

// A copy without the optional modules, built and served: see support/changed-copy.ts.

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

  test.each(modules.flatMap(endpointsOf))(
    "%s returns 404 in the envelope, even to a caller with the permission",
    async (path) => {
      expect((await fetch(`${base}/api/v1/admin/users`, { headers })).status).toBe(200)
      const response = await fetch(base + path, { headers })
      expect(response.status).toBe(404)
      expect(await response.json()).toEqual({ error: { code: "not_found", message: expect.any(String) } })
    },
  )

  test("the remaining measures can be queried, and the measures of removed modules are gone", async () => {
    const families = (metrics.endpoint.families ?? []).map(({ family }) => family)
    const counted = modules.filter((name) => endpointsOf(name).includes(`/api/v1/admin/${name}`))
    expect(families.map(({ name }) => name)).toEqual(expect.arrayContaining(counted))
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
    const wrong = reached.filter(([path, { status }]) => status >= 400 || namesOf(optional).test(path))
    expect(wrong.map(([path, { status }]) => [path, status])).toEqual([])
  })

  test.each([
    "/api/v1/openapi.json",
    "/api/v1/admin/skill.md",
    "/api/v1/me/skill.md",
    "/llms.txt",
    "/.well-known/agent-skills/index.json",
  ])("%s does not mention removed modules", async (path) => {
    const response = await fetch(base + path)
    expect(response.status).toBe(200)
    // The log may still have calls of a removed module, for which a filter has a pattern.
    const text = (await response.text()).replaceAll(/"pattern":"[^"]*"/g, "")
    expect(text).not.toMatch(namesOf(optional))
  })
})
