import { beforeAll, expect, test, vi } from "vitest"
import { exampleSearch } from "@/lib/api/documents/document"
import type { Role } from "@/lib/permissions"
import { db } from "@/lib/platform/postgres/prisma"
import { demoAccounts, demoKey } from "@/lib/process/demo-accounts"
import { anyPrefix, type Surface } from "@/lib/surfaces"
import { seed } from "@/prisma/seed"
import { ownerPool } from "@/tests/support/owner"
import { validBody } from "@/tests/support/run-intents"
import { endpoints } from "./endpoints"

// The examples in the documentation are the responses to the demo accounts on a fixed date. Each is stored in a file next
// to its route; `npm run api:examples` rewrites them.

// Runs last: a run would be in the lists that are read after it.
const table = (await endpoints()).sort((one, other) => one.method.localeCompare(other.method))

const seededUntil = new Date("2026-06-15T00:00:00.000Z")
const callers: Record<Surface, Role> = { admin: "owner", user: "member" }

beforeAll(async () => {
  await seed(ownerPool(), { users: 200, now: seededUntil })
  // The calls of this test are not logged among the seeded ones: the log is written after a while.
  vi.useFakeTimers({ toFake: ["Date", "setTimeout"], now: seededUntil.getTime() - 1 })
  return () => vi.useRealTimers()
})

test.each(table)(
  "the example of $method $path is its response on the seeded data: npm run api:examples",
  async (endpoint) => {
    const { path, surface, method, routes } = endpoint
    const caller = demoAccounts.find(({ role }) => role === callers[surface]) ?? expect.fail()
    const headers = { authorization: `Bearer ${demoKey(caller)}`, "content-type": "application/json" }
    const { id } = await db().user.findUniqueOrThrow({ where: { email: caller.email } })
    const body = await validBody(endpoint, id)
    const request = new Request(`http://localhost:3000${path}${exampleSearch(endpoint)}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    })
    const response = await routes[method](request)
    expect(response.status).toBe(200)
    const created = await response.json()
    const example = JSON.stringify(created, method === "POST" ? ofNewObject(created.data) : ofAnyProduct, 2)
    // A result can contain the id of its run.
    const text = `${method === "POST" ? example.replaceAll(created.data.id, newId) : example}\n`
    // No personal data and no key: every email address is in a domain reserved for examples.
    expect(text).not.toMatch(/@(?!example\.(com|org|net)")/)
    expect(text).not.toMatch(new RegExp(`${anyPrefix}\\w{12}`))
    const file = `${path.replace("/api/v1", ".")}/example.json`
    await expect(text).toMatchFileSnapshot(file)
  },
)

const newId = "019ec7ba-2c00-7c01-9f3e-6d1f0a7c55e2"

/** Replaces the random id and the times of an object that the call creates. */
function ofNewObject({ createdAt }: { createdAt: string }) {
  const later = (time: string) => Date.parse(time) - Date.parse(createdAt)
  return (name: string, value: unknown) => {
    if (name === "id") return newId
    return name.endsWith("At") ? new Date(seededUntil.getTime() + later(String(value))).toISOString() : value
  }
}

/** Replaces the database's time and values that depend on the product's name, modules or earlier calls. */
function ofAnyProduct(name: string, value: unknown): unknown {
  if (name === "start" && typeof value === "string") return value.replace(/\w{4}$/, "7kQ2")
  if (name === "scopes" && Array.isArray(value)) return value.slice(0, 2)
  if (name === "asOf") return seededUntil.toISOString()
  return name === "remaining" ? 299 : value
}
