import { randomUUID } from "node:crypto"
import { describe, expect, test } from "vitest"
import type { Owner, OwnerId } from "@/lib/authority/owner"
import type { Role } from "@/lib/permissions"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { consume, limits } from "@/lib/platform/rate-limit/rate-limit"
import type { Viewer } from "@/lib/sign-in/session-rows"
import { kinds, type Surface, surfaces } from "@/lib/surfaces"
import { createKey, createUser, createViewer } from "@/tests/support/factories"
import { whileUncommitted } from "@/tests/support/locks"
import { ownerPool } from "@/tests/support/owner"
import { expiryOf, usageDays } from "./choices"
import { listKeys, listKeysOf } from "./data"
import {
  type AccountRevocation,
  issueKey,
  maxKeys,
  maxLiveKeys,
  type NewKey,
  newKeyForms,
  revokeKeyOfAccount,
  revokeKeys,
  revokeKeysOf,
} from "./mutations"
import { rotateKey } from "./rotation"
import { hashSecret, isWellFormed, newSecret, startOf } from "./secret"

function form(overrides: Partial<NewKey> = {}): NewKey {
  const limits = { scopes: ["read" as const], addresses: [], requestsPerMinute: null }
  return { requestId: randomUUID(), name: "Nightly report", expires: "90d", date: null, ...limits, ...overrides }
}

function issue(surface: Surface, viewer: Viewer, form: NewKey) {
  return issueKey(surface, viewer, form, ["read"])
}

function viewerOf(user: Awaited<ReturnType<typeof createUser>>): Owner {
  return { ...user, id: user.id as OwnerId }
}

describe.each(surfaces)("a key of the %s surface", (surface) => {
  test("is stored as its hash, its prefix and four more characters; no table contains the full key", async () => {
    const viewer = await createViewer()
    const { id } = viewer
    const issued = await issue(surface, viewer, form())
    if (!issued.ok) throw new Error(issued.reason)
    expect(issued.secret.startsWith(kinds[surface].prefix)).toBe(true)
    expect(isWellFormed(issued.secret)).toBe(true)

    const key = await db().apiKey.findUniqueOrThrow({ where: { id: issued.id } })
    expect(key).toMatchObject({ userId: id, surface, name: "Nightly report", start: startOf(issued.secret) })
    expect(Buffer.from(key.hash)).toEqual(hashSecret(issued.secret))
    expect(key.expiresAt?.getTime()).toBeCloseTo(key.createdAt.getTime() + 90 * 86_400_000, -4)

    const [entry] = await db().auditEntry.findMany({ where: { targetId: issued.id } })
    expect(entry).toMatchObject({ actorId: id, action: "api_key.issued", targetType: "api_key" })
    const audited = { scopes: "read", addresses: null, requestsPerMinute: null, spendLimit: null, spendPeriod: null }
    expect(entry?.details).toMatchObject({ surface, start: startOf(issued.secret), ...audited })

    const tables = await ownerPool().query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    for (const { tablename } of tables.rows) {
      const { rows } = await ownerPool().query(
        `SELECT t::text AS row FROM "${tablename}" t WHERE t::text LIKE '%' || $1 || '%'`,
        [issued.secret.slice(startOf(issued.secret).length)],
      )
      expect(rows, tablename).toEqual([])
    }
  })

  test("is issued once per form, even when the form is submitted several times concurrently", async () => {
    const viewer = await createViewer()
    const submitted = form()
    const results = await Promise.all([1, 2, 3].map(() => issue(surface, viewer, submitted)))
    expect(results.filter((result) => result.ok)).toHaveLength(1)
    expect(results.filter((result) => !result.ok && result.reason === "already_issued")).toHaveLength(2)
    expect(await db().apiKey.count({ where: { userId: viewer.id } })).toBe(1)
  })

  test(`is refused beyond ${maxLiveKeys} live keys, also concurrently; revoked and expired keys do not count`, async () => {
    const user = await createViewer()
    await createKey({ user, surface, revokedAt: new Date() })
    await createKey({ user, surface, expiresAt: new Date(Date.now() - 1000) })
    await createKey({ user, surface: surface === "admin" ? "user" : "admin" })
    for (let count = 2; count < maxLiveKeys; count++) await createKey({ user, surface })
    const results = await Promise.all([1, 2, 3, 4, 5].map(() => issue(surface, user, form())))
    expect(results.filter((result) => result.ok)).toHaveLength(2)
    expect(results.filter((result) => !result.ok && result.reason === "too_many_keys")).toHaveLength(3)
  })

  test("is revoked once, only on its own surface, and audited", async () => {
    const user = await createUser()
    const id = user.id as OwnerId
    const { key } = await createKey({ user, surface })
    const other = surface === "admin" ? "user" : "admin"
    const viewer = viewerOf(user)
    expect(await revokeKeys(other, viewer, { ids: [key.id], reason: "leaked" })).toEqual({
      ok: false,
      reason: "not_found",
    })
    const named = { ok: true, keys: [{ id: key.id, name: key.name }] }
    expect(await revokeKeys(surface, viewer, { ids: [key.id], reason: "leaked" })).toEqual({
      ...named,
      revoked: [
        {
          owner: { id, email: user.email },
          keys: [{ id: key.id, surface, name: key.name, start: key.start, ownerId: id }],
        },
      ],
    })
    const { revokedAt, revokedById, revocationReason } = await db().apiKey.findUniqueOrThrow({ where: { id: key.id } })
    expect([revokedById, revocationReason]).toEqual([id, "leaked"])
    expect(await revokeKeys(surface, viewer, { ids: [key.id], reason: "leaked" })).toEqual({ ...named, revoked: [] })
    expect((await db().apiKey.findUniqueOrThrow({ where: { id: key.id } })).revokedAt).toEqual(revokedAt)
    const entries = await db().auditEntry.findMany({ where: { targetId: key.id } })
    expect(entries).toMatchObject([
      { actorId: id, action: "api_key.revoked", details: { surface, ownerId: id, reason: "leaked" } },
    ])
  })
})

test.each<[Role, Surface, Role, "sees" | "does not see"]>([
  ["owner", "user", "member", "does not see"],
  ["owner", "admin", "owner", "sees"],
  ["admin", "admin", "owner", "does not see"],
  ["admin", "admin", "admin", "sees"],
  ["admin", "admin", "finance", "sees"],
  ["analyst", "admin", "analyst", "does not see"],
  ["bookkeeper", "admin", "member", "does not see"],
])(
  "a viewer with the role %s, on the page of %s keys, and the keys of another account with the role %s: %s them",
  async (role, surface, otherRole, expected) => {
    const viewer = viewerOf(await createUser({ role }))
    const user = await createUser({ role: otherRole })
    const [own, { key }] = [await createKey({ user: viewer, surface }), await createKey({ user, surface })]
    const listed = (await listKeys(surface, viewer)).map(({ id }) => id)
    expect([listed.includes(own.key.id), listed.includes(key.id)]).toEqual([true, expected === "sees"])
    expect((await revokeKeys(surface, viewer, { ids: [key.id], reason: "leaked" })).ok).toBe(expected === "sees")
    const { revokedById } = await db().apiKey.findUniqueOrThrow({ where: { id: key.id } })
    expect(revokedById).toBe(expected === "sees" ? viewer.id : null)
  },
)

test("an account that manages another revokes one of its keys, then all others, each with an audit entry", async () => {
  const actor = viewerOf(await createUser({ role: "admin" }))
  const user = await createUser()
  const keys = await Promise.all(
    (["user", "user", "admin"] as const).map(async (surface) => (await createKey({ user, surface })).key),
  )
  const foreign = (await createKey({ user: await createUser(), surface: "user" })).key
  await createKey({ user, surface: "user", expiresAt: new Date(Date.now() - 1000) })
  const [first, ...others] = keys.map(({ id }) => id)
  const idsOf = (result: AccountRevocation) => (result.ok ? result.keys.map(({ id }) => id).sort() : result.reason)
  const owner = { id: user.id, email: user.email }
  const reason = "left_team"

  const one = await revokeKeyOfAccount(actor.id, { id: String(first), reason })
  expect(one).toMatchObject({ ok: true, owner, keys: [{ id: first }] })
  expect(idsOf(await revokeKeyOfAccount(actor.id, { id: String(first), reason }))).toEqual([])
  expect(idsOf(await revokeKeysOf(actor.id, user.id, reason))).toEqual(others.sort())
  expect(idsOf(await revokeKeysOf(actor.id, user.id, reason))).toEqual([])
  expect(idsOf(await revokeKeyOfAccount(actor.id, { id: randomUUID(), reason }))).toBe("no_such_key")

  const revoked = await db().apiKey.findMany({ where: { revokedById: actor.id } })
  expect(revoked.map(({ id }) => id).sort()).toEqual(keys.map(({ id }) => id).sort())
  expect((await db().apiKey.findUniqueOrThrow({ where: { id: foreign.id } })).revokedAt).toBeNull()
  const audited = await db().auditEntry.findMany({ where: { actorId: actor.id, action: "api_key.revoked" } })
  expect(audited.map(({ targetId }) => targetId).sort()).toEqual(keys.map(({ id }) => id).sort())
})

test.each<[Role, Role, string]>([
  ["support", "member", "not_permitted"],
  ["admin", "admin", "beyond_actor"],
  ["admin", "owner", "beyond_actor"],
])(
  "an account with the role %s cannot revoke the keys of one with the role %s: %s",
  async (role, otherRole, reason) => {
    const { id } = viewerOf(await createUser({ role }))
    const user = await createUser({ role: otherRole })
    const { key } = await createKey({ user, surface: "user" })
    expect(await revokeKeyOfAccount(id, { id: key.id, reason: "leaked" })).toEqual({ ok: false, reason })
    expect(await revokeKeysOf(id, user.id, "leaked")).toEqual({ ok: false, reason })
    expect((await db().apiKey.findUniqueOrThrow({ where: { id: key.id } })).revokedAt).toBeNull()
  },
)

test.each<[Role, Role, Surface[]]>([
  ["owner", "owner", ["admin", "user"]],
  ["admin", "analyst", ["admin", "user"]],
  ["admin", "owner", ["user"]],
  ["analyst", "owner", ["user"]],
  ["support", "analyst", ["user"]],
])(
  "a viewer with the role %s sees of an account with the role %s the keys of %j",
  async (role, otherRole, expected) => {
    const user = await createUser({ role: otherRole })
    for (const surface of surfaces) await createKey({ user, surface })
    const listed = await listKeysOf(user.id, viewerOf(await createUser({ role })))
    const seen = surfaces.filter((surface) => listed.some(({ start }) => start.startsWith(kinds[surface].prefix)))
    expect(seen).toEqual(expected)
  },
)

test("a listing shows each key as active, revoked, or expired by the database clock", async () => {
  const user = await createUser()
  const active = await createKey({ user, surface: "user" })
  const expired = await createKey({ user, surface: "user" })
  const revoked = await createKey({ user, surface: "user", revokedAt: new Date(), expiresAt: new Date(0) })
  await pool().query("UPDATE api_keys SET expires_at = date_trunc('milliseconds', now()) WHERE id = $1", [
    expired.key.id,
  ])
  const states = new Map((await listKeys("user", viewerOf(user))).map(({ id, state }) => [id, state]))
  expect(states).toEqual(
    new Map([
      [active.key.id, "active"],
      [expired.key.id, "expired"],
      [revoked.key.id, "revoked"],
    ]),
  )
})

test("a lifetime counts from issuing, a date lasts through its last millisecond, and past or distant dates are refused", () => {
  const now = new Date("2026-03-01T10:00:00Z")
  expect(expiryOf({ expires: "30d" }, now)).toEqual(new Date("2026-03-31T10:00:00Z"))
  expect(expiryOf({ expires: "1y" }, now)).toEqual(new Date("2027-03-01T10:00:00Z"))
  expect(expiryOf({ expires: "never" }, now)).toBeNull()
  expect(expiryOf({ expires: "date", date: "2026-03-01" }, now)).toEqual(new Date("2026-03-01T23:59:59.999Z"))
  expect(expiryOf({ expires: "date", date: "2026-02-28" }, now)).toBe("bad_date")
  expect(expiryOf({ expires: "date", date: "2036-03-01" }, now)).toEqual(new Date("2036-03-01T23:59:59.999Z"))
  expect(expiryOf({ expires: "date", date: "2036-03-02" }, now)).toBe("bad_date")
  expect(expiryOf({ expires: "date", date: "" }, now)).toBe("bad_date")
})

test.each([
  ["an empty name", { name: "  " }],
  ["a name of 81 characters", { name: "x".repeat(81) }],
  ["NUL in the name", { name: "a\0b" }],
  ["a lone surrogate in the name", { name: "a\ud800b" }],
  ["a line break in the name", { name: "a\nb" }],
  ["an invisible name", { name: "\u200b" }],
  ["a key as the name", { name: `old ${newSecret("user")}` }],
  ["an unknown lifetime", { expires: "5y" }],
  ["an empty lifetime", { expires: "" }],
  ["30 February", { expires: "date", date: "2027-02-30" }],
  ["an invalid request id", { requestId: "1" }],
  ["no scope", { scopes: "" }],
  ["an unknown scope", { scopes: "read\nwrite" }],
  ["a host name as an address", { addresses: "example.com" }],
  ["51 addresses", { addresses: Array.from({ length: 51 }, (_, index) => `10.0.0.${index}`).join("\n") }],
  ["0 requests per minute", { requestsPerMinute: "0" }],
  ["301 requests per minute", { requestsPerMinute: "301" }],
  ["half a request", { requestsPerMinute: "0.5" }],
  ["a negative spending limit", { spendLimit: "-1" }],
  ["an exponent as a spending limit", { spendLimit: "1e3" }],
  ["a spending limit of more than a billion", { spendLimit: "1000000001" }],
  ["an unknown period", { spendLimit: "5", spendPeriod: "year" }],
  ["an unknown field", { userId: randomUUID() }],
])("the form refuses %s", (_what, fields) => {
  const limits = { scopes: "read", addresses: "", requestsPerMinute: "", spendLimit: "", spendPeriod: "" }
  const valid = { ...form(), date: "", ...limits }
  expect(newKeyForms.user.safeParse(valid).success).toBe(true)
  expect(newKeyForms.user.safeParse({ ...valid, ...fields }).success).toBe(false)
})

test.each(["password_hash = 'another'", "status = 'banned'"])(
  "a form that waits while its account gets %s, which ends its session, issues no key",
  async (change) => {
    const viewer = await createViewer()
    const [issued] = await whileUncommitted([`UPDATE users SET ${change} WHERE id = $1`, viewer.id], () =>
      issue("user", viewer, form()),
    )
    expect(issued).toEqual({ ok: false, reason: "signed_out" })
    expect(await db().apiKey.count({ where: { userId: viewer.id } })).toBe(0)
  },
)

test("creating keys is rate limited, revoking is not", async () => {
  const viewer = await createViewer()
  const { id } = viewer
  const issued = await issue("user", viewer, form())
  if (!issued.ok) throw new Error(issued.reason)
  for (let count = 1; count < limits.keyCreationsAccount.tokens; count++) await consume("keyCreationsAccount", id)
  expect(await issue("user", viewer, form())).toEqual({
    ok: false,
    reason: "too_many_issued",
    retryAfterSeconds: expect.any(Number),
  })
  expect(await db().apiKey.count({ where: { userId: id } })).toBe(1)
  expect(await revokeKeys("user", viewer, { ids: [issued.id], reason: "other" })).toMatchObject({
    ok: true,
    revoked: [{ keys: [{ name: "Nightly report" }] }],
  })
})

test(`no key is issued or rotated beyond ${maxKeys} that work or ended within ${usageDays} days; older ones do not count`, async () => {
  const user = await createViewer()
  const { key } = await createKey({ user, surface: "user" })
  const rotate = () => rotateKey("user", user, { id: key.id, requestId: randomUUID(), grace: "7d" })
  const ended = (count: number, days: number) =>
    pool().query(
      `INSERT INTO api_keys (id, user_id, surface, name, start, hash, request_id, created_at, expires_at, revoked_at)
       SELECT gen_random_uuid(), $1, 'admin', 'x', $4, sha256(gen_random_uuid()::text::bytea), gen_random_uuid(), ended,
         CASE WHEN n % 2 = 0 THEN ended END, CASE WHEN n % 2 = 1 THEN ended END
       FROM generate_series(1, $2::int) n, (SELECT now() - make_interval(hours => 24 * $3::int) AS ended)`,
      [user.id, count, days, startOf(newSecret("admin"))],
    )
  await ended(10, usageDays + 1)
  await ended(maxKeys - 2, usageDays - 1)
  expect(await issue("user", user, form())).toMatchObject({ ok: true })
  expect(await issue("user", user, form())).toEqual({ ok: false, reason: "too_many_kept" })
  expect(await rotate()).toEqual({ ok: false, reason: "too_many_kept" })
})

test("the key that a revoked key had replaced is revoked with it on request, and no other", async () => {
  const user = await createUser()
  const rotated = async (old = {}) => {
    const { key: successor } = await createKey({ user, surface: "user" })
    const { key } = await createKey({ user, surface: "user", successorId: successor.id, ...old })
    return [successor.id, key.id] as const
  }
  const [[first, kept], [second, replaced]] = [await rotated(), await rotated()]
  const [third] = await rotated({ createdAt: new Date(0), expiresAt: new Date(1) })
  const revoke = (id: string, replaced: string) =>
    idsOf(revokeKeys("user", viewerOf(user), { ids: [id], reason: "not_needed", replaced }))
  expect(await revoke(first, "")).toEqual([first])
  expect((await revoke(second, "revoke")).sort()).toEqual([second, replaced].sort())
  expect(await revoke(third, "revoke")).toEqual([third])
  expect((await db().apiKey.findUniqueOrThrow({ where: { id: kept } })).revokedAt).toBeNull()
})

async function idsOf(result: ReturnType<typeof revokeKeys>): Promise<string[]> {
  const revoked = { revoked: [], ...(await result) }.revoked as { keys: { id: string }[] }[]
  return revoked.flatMap(({ keys }) => keys.map(({ id }) => id))
}

test("keys of several accounts are revoked at once and grouped by owner, each is audited, and keys out of reach stay", async () => {
  const viewer = viewerOf(await createUser({ role: "admin" }))
  const [analyst, owner] = [await createUser({ role: "analyst" }), await createUser({ role: "owner" })]
  const keyOf = async (user: { id: string }) => (await createKey({ user, surface: "admin" })).key.id
  const [own, first, second, beyond] = [
    await keyOf(viewer),
    await keyOf(analyst),
    await keyOf(analyst),
    await keyOf(owner),
  ]
  const ids = [own, first, second, beyond, randomUUID()]
  const result = await revokeKeys("admin", viewer, { ids, reason: "left_team" })
  const grouped = result.ok ? result.revoked.map(({ owner, keys }) => [owner.id, keys.map(({ id }) => id).sort()]) : []
  expect(grouped.sort()).toEqual([[viewer.id, [own]] as const, [analyst.id, [first, second].sort()] as const].sort())
  const audited = await db().auditEntry.findMany({ where: { targetId: { in: ids } } })
  expect(audited.map(({ targetId, actorId }) => [targetId, actorId]).sort()).toEqual(
    [own, first, second].map((id) => [id, viewer.id]).sort(),
  )
  expect((await db().apiKey.findUniqueOrThrow({ where: { id: beyond } })).revokedAt).toBeNull()
})

test("keys that are not revoked are listed before revoked keys", async () => {
  const user = await createUser()
  const at = (minutes: number) => new Date(Date.now() - minutes * 60_000)
  const names = async () => (await listKeys("user", viewerOf(user))).map(({ name }) => name)
  await createKey({ user, surface: "user", name: "old", createdAt: at(30) })
  await createKey({ user, surface: "user", name: "new", createdAt: at(20) })
  await createKey({ user, surface: "user", name: "gone", createdAt: at(10), revokedAt: at(5) })
  expect(await names()).toEqual(["new", "old", "gone"])
})
