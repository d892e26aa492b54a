import { expect, test } from "vitest"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { limits } from "@/lib/platform/rate-limit/rate-limit"
import { createKey, createViewer } from "@/tests/support/factories"
import { changeKey } from "./change"
import { settingsText } from "./choices"
import { findKey } from "./data"

const unlimited = { name: "CI", addresses: [], requestsPerMinute: null, spendLimit: null, spendPeriod: null }
const limited = {
  name: "Night",
  addresses: ["203.0.113.0/24", "2001:db8::1"],
  requestsPerMinute: 5,
  spendLimit: 0,
  spendPeriod: "day" as const,
}

test("limits are set, audited without the name, and removed again; scopes stay", async () => {
  const user = await createViewer()
  const { id, start } = (await createKey({ user, surface: "user", scopes: ["read"] })).key
  const columns = async () =>
    (
      await pool().query(
        "SELECT name, scopes, allowed_cidrs, requests_per_minute, spend_limit, spend_period FROM api_keys WHERE id = $1",
        [id],
      )
    ).rows
  expect(await changeKey("user", user, { id, ...limited })).toEqual({ ok: true, start })
  const own = { scopes: ["read"], allowed_cidrs: limited.addresses, requests_per_minute: 5 }
  expect(await columns()).toEqual([{ name: "Night", ...own, spend_limit: "0", spend_period: "day" }])
  expect(await changeKey("user", user, { id, ...unlimited })).toEqual({ ok: true, start })
  const none = { allowed_cidrs: null, requests_per_minute: null, spend_limit: null, spend_period: null }
  expect(await columns()).toEqual([{ name: "CI", scopes: ["read"], ...none }])
  const entries = await db().auditEntry.findMany({ where: { targetId: id }, orderBy: { createdAt: "asc" } })
  const about = { surface: "user", start, scopes: "read" }
  expect(entries.map(({ action, actorId, details }) => ({ action, actorId, details }))).toEqual([
    {
      action: "api_key.changed",
      actorId: user.id,
      details: {
        ...about,
        addresses: 2,
        addressesChanged: true,
        requestsPerMinute: 5,
        spendLimit: 0,
        spendPeriod: "day",
      },
    },
    {
      action: "api_key.changed",
      actorId: user.id,
      details: {
        ...about,
        addresses: null,
        addressesChanged: true,
        requestsPerMinute: null,
        spendLimit: null,
        spendPeriod: null,
      },
    },
  ])
})

test("a form that shows settings from before another change does not undo it", async () => {
  const user = await createViewer()
  const { id } = (await createKey({ user, surface: "user", name: "CI" })).key
  const shown = settingsText("CI", null, null, null)
  expect(await changeKey("user", user, { id, ...limited, shown })).toMatchObject({ ok: true })
  expect(await changeKey("user", user, { id, ...limited, shown })).toMatchObject({ ok: true })
  expect(await changeKey("user", user, { id, ...unlimited, shown })).toEqual({ ok: false, reason: "changed_since" })
  const { name, addresses, requestsPerMinute, spending } = await findKey("user", user, id).then((key) => {
    if (!key) throw new Error("There is no such key.")
    return key
  })
  expect(addresses).toEqual(limited.addresses)
  const current = settingsText(name, addresses, requestsPerMinute, spending)
  expect(await changeKey("user", user, { id, ...unlimited, shown: current })).toMatchObject({ ok: true })
})

test("the key that a changed one replaced gets the same limits", async () => {
  const user = await createViewer()
  const { key } = await createKey({ user, surface: "user" })
  const other = await createKey({ user, surface: "user" })
  const replaced = await createKey({ user, surface: "user", successorId: key.id })
  await changeKey("user", user, { id: key.id, ...limited })
  const changed = await db().apiKey.findMany({ where: { userId: user.id, requestsPerMinute: 5 } })
  expect(changed.map(({ id }) => id).sort()).toEqual([key.id, replaced.key.id].sort())
  expect(changed.map(({ id }) => id)).not.toContain(other.key.id)
})

test("keys that are revoked or expired, of another account or of the other surface are not changed", async () => {
  const user = await createViewer()
  const past = new Date(Date.now() - 1000)
  const own = async (overrides: object) => (await createKey({ user, surface: "user", ...overrides })).key.id
  const change = async (id: string, by = user) => changeKey("user", by, { id, ...limited })
  expect(await change(await own({ revokedAt: past }))).toEqual({ ok: false, reason: "ended" })
  expect(await change(await own({ expiresAt: past }))).toEqual({ ok: false, reason: "ended" })
  expect(await change(await own({}), await createViewer())).toEqual({ ok: false, reason: "not_found" })
  const { key } = await createKey({ user, surface: "admin" })
  expect(await change(key.id)).toEqual({ ok: false, reason: "not_found" })
  expect(await db().apiKey.count({ where: { userId: user.id, name: limited.name } })).toBe(0)
})

test("changes are limited per hour, because each writes to the audit log", async () => {
  const user = await createViewer()
  const { id } = (await createKey({ user, surface: "user" })).key
  const results = []
  for (let count = 0; count <= limits.keyChangesAccount.tokens; count++) {
    results.push(await changeKey("user", user, { id, ...unlimited }))
  }
  expect(results.filter(({ ok }) => ok)).toHaveLength(limits.keyChangesAccount.tokens)
  expect(results.at(-1)).toEqual({ ok: false, reason: "too_many_changes", retryAfterSeconds: expect.any(Number) })
})
