import { randomUUID } from "node:crypto"
import { describe, expect, test } from "vitest"
import { reserve } from "@/lib/credits/ledger"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { createKey, createViewer, grantCredits } from "@/tests/support/factories"
import { whileUncommitted } from "@/tests/support/locks"
import type { Grace } from "./choices"
import { listKeys } from "./data"
import { type RotateResult, rotateKey } from "./rotation"

const hour = 3_600_000

type Viewer = Awaited<ReturnType<typeof createViewer>>

function rotate(viewer: Viewer, id: string, grace: Grace = "24h", requestId: string = randomUUID()) {
  return rotateKey("user", viewer, { id, requestId, grace })
}

function succeeded(result: RotateResult) {
  if (!result.ok) throw new Error(result.reason)
  return result
}

function keyOf(id: string) {
  return db().apiKey.findUniqueOrThrow({ where: { id } })
}

/** Milliseconds from the creation of the new key, which is when the transaction of the database started. */
async function graceOf(oldId: string, newId: string): Promise<number> {
  const [old, successor] = await Promise.all([keyOf(oldId), keyOf(newId)])
  return Number(old.expiresAt) - successor.createdAt.getTime()
}

test("the new key has the name, the scopes and the limits of the old one, and shares its spending", async () => {
  const user = await createViewer()
  const limits = { scopes: ["run"], allowedCidrs: ["203.0.113.0/24"], requestsPerMinute: 5 }
  const spending = { spendLimit: 9n, spendPeriod: "week" as const }
  const { key } = await createKey({ user, surface: "user", name: "CI", ...limits, ...spending })
  const first = succeeded(await rotate(user, key.id))
  const inherited = { name: "CI", ...limits, ...spending, userId: user.id, surface: "user", rootId: key.id }
  expect(await keyOf(first.id)).toMatchObject(inherited)
  expect(await keyOf(key.id)).toMatchObject({ successorId: first.id, revokedAt: null })

  await pool().query("UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE id = $1", [key.id])
  const second = succeeded(await rotate(user, first.id))
  expect(await keyOf(second.id)).toMatchObject(inherited)
})

test("a key with all permissions of its owner and no limits is replaced by one that has them too", async () => {
  const user = await createViewer()
  const { key } = await createKey({ user, surface: "user" })
  const { id } = succeeded(await rotate(user, key.id))
  const { rows } = await pool().query("SELECT scopes, allowed_cidrs FROM api_keys WHERE id = $1", [id])
  expect(rows).toEqual([{ scopes: null, allowed_cidrs: null }])
})

test.each([
  ["none", 0],
  ["1h", hour],
  ["24h", 24 * hour],
  ["7d", 7 * 24 * hour],
] as const)("with the grace %s the old key works for %i ms", async (grace, ms) => {
  const user = await createViewer()
  const { key } = await createKey({ user, surface: "user" })
  const { id, oldWorksUntil } = succeeded(await rotate(user, key.id, grace))
  expect(Math.abs((await graceOf(key.id, id)) - ms)).toBeLessThanOrEqual(1)
  expect(oldWorksUntil).toEqual(ms === 0 ? null : (await keyOf(key.id)).expiresAt)
})

test("the expiry of the old key is never extended, and the new key has the old one's original lifetime", async () => {
  const user = await createViewer()
  const createdAt = new Date(Date.now() - 29 * 24 * hour)
  const expiresAt = new Date(createdAt.getTime() + 30 * 24 * hour)
  const { key } = await createKey({ user, surface: "user", createdAt, expiresAt })
  const { id } = succeeded(await rotate(user, key.id, "7d"))
  expect((await keyOf(key.id)).expiresAt).toEqual(expiresAt)
  const successor = await keyOf(id)
  const lifetime = Number(successor.expiresAt) - successor.createdAt.getTime()
  expect(Math.abs(lifetime - 30 * 24 * hour)).toBeLessThanOrEqual(1)
})

test("a leaked key is revoked at once, and so is the one that it replaced", async () => {
  const user = await createViewer()
  const { key } = await createKey({ user, surface: "user" })
  const first = succeeded(await rotate(user, key.id))
  const second = succeeded(await rotate(user, first.id, "leaked"))
  expect(await keyOf(first.id)).toMatchObject({ revocationReason: "leaked", revokedById: user.id })
  expect(await keyOf(key.id)).toMatchObject({ revocationReason: "other", revokedById: user.id })
  expect((await listKeys("user", user)).filter(({ state }) => state === "active")).toMatchObject([{ id: second.id }])
})

describe("a rotation is refused", () => {
  test("while the key that it replaced still works", async () => {
    const user = await createViewer()
    const { key } = await createKey({ user, surface: "user" })
    const { id, oldWorksUntil } = succeeded(await rotate(user, key.id))
    expect(await rotate(user, id)).toEqual({ ok: false, reason: "predecessor_works", until: oldWorksUntil })
  })

  test("for a key that was replaced already, also if it leaked", async () => {
    const user = await createViewer()
    const { key } = await createKey({ user, surface: "user" })
    succeeded(await rotate(user, key.id))
    for (const grace of ["24h", "leaked"] as const) {
      expect(await rotate(user, key.id, grace)).toEqual({ ok: false, reason: "already_rotated" })
    }
  })

  test("for keys that are revoked or expired, of another account or of the other surface", async () => {
    const user = await createViewer()
    const ended = { ok: false, reason: "ended" }
    const notFound = { ok: false, reason: "not_found" }
    const past = new Date(Date.now() - 1000)
    const own = async (overrides: object) => (await createKey({ user, surface: "user", ...overrides })).key.id
    expect(await rotate(user, await own({ revokedAt: past }))).toEqual(ended)
    expect(await rotate(user, await own({ expiresAt: past }))).toEqual(ended)
    expect(await rotate(await createViewer(), await own({}))).toEqual(notFound)
    expect(await rotate(user, (await createKey({ user, surface: "admin" })).key.id)).toEqual(notFound)
    expect(await rotate(user, randomUUID())).toEqual(notFound)
    expect(await db().apiKey.count({ where: { rootId: { not: null }, userId: user.id } })).toBe(0)
  })
})

test("one form rotates once, and of two forms at once one", async () => {
  const user = await createViewer()
  const { key } = await createKey({ user, surface: "user" })
  const requestId = randomUUID()
  const twice = await Promise.all([rotate(user, key.id, "24h", requestId), rotate(user, key.id, "24h", requestId)])
  expect(twice.map((result) => result.ok || result.reason).sort()).toEqual(["already_issued", true])

  const other = (await createKey({ user, surface: "user" })).key
  const both = await Promise.all([rotate(user, other.id), rotate(user, other.id, "leaked")])
  expect(both.map((result) => result.ok || result.reason).sort()).toEqual(["already_rotated", true])
  expect(await db().apiKey.count({ where: { rootId: other.id } })).toBe(1)
})

test("a rotation that waits while its session ends issues no key", async () => {
  const user = await createViewer()
  const { key } = await createKey({ user, surface: "user" })
  const [rotated] = await whileUncommitted(["UPDATE users SET status = 'banned' WHERE id = $1", user.id], () =>
    rotate(user, key.id),
  )
  expect(rotated).toEqual({ ok: false, reason: "signed_out" })
  expect(await db().apiKey.count({ where: { userId: user.id } })).toBe(1)
})

test("a rotation that has not committed yet does not keep runs with the old key waiting", async () => {
  const user = await createViewer()
  await grantCredits(user.id, 10)
  const { key } = await createKey({ user, surface: "user" })
  const successor = (await createKey({ user, surface: "user" })).key
  const call = { owner: user.id, keyId: key.id, idempotencyKey: null, fingerprint: Buffer.alloc(32), amount: 10 }
  const connection = await pool().connect()
  try {
    await connection.query("BEGIN")
    await connection.query("UPDATE api_keys SET successor_id = $2 WHERE id = $1", [key.id, successor.id])
    expect(await reserve(call)).toMatchObject({ ok: true })
  } finally {
    await connection.query("ROLLBACK")
    connection.release()
  }
})
