import { expect, test, vi } from "vitest"
import { env } from "@/lib/env"
import { newSecret } from "@/lib/keys/secret"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { finishBackground } from "@/lib/platform/queues/background"
import { socketAddressHeader } from "@/lib/platform/rate-limit/client-address"
import { limits } from "@/lib/platform/rate-limit/rate-limit"
import { log } from "@/lib/platform/telemetry/log"
import { singletons } from "@/lib/singleton"
import type { Surface } from "@/lib/surfaces"
import { createKey, createUser } from "@/tests/support/factories"
import { openApiViolations } from "@/tests/support/openapi-violations"
import { POST } from "./route"

// The production bounds of the pool: a test exceeds them.
env().DATABASE_WAIT_MS = 2_400
delete singletons.pool
delete singletons.prisma

let addresses = 0

function newAddress(): string {
  const number = addresses++
  return `10.0.${Math.floor(number / 256)}.${number % 256}`
}

function report(body: unknown, address = newAddress()): Promise<Response> {
  const headers = { "content-type": "application/json", [socketAddressHeader]: address }
  const sent = typeof body === "string" ? body : JSON.stringify(body)
  return POST(new Request("http://localhost:3000/api/leaks", { method: "POST", headers, body: sent }))
}

/** A new key with the fields that the tests compare. */
async function issued(surface: Surface = "user", overrides: Partial<Parameters<typeof createKey>[0]> = {}) {
  const user = await createUser({ role: surface === "admin" ? "admin" : "member" })
  const { secret, key } = await createKey({ user, surface, ...overrides })
  return { user, secret, id: key.id, start: key.start }
}

async function stateOf(id: string) {
  const { revocationReason, revokedById } = await db().apiKey.findUniqueOrThrow({ where: { id } })
  return { revocationReason, revokedById }
}

function emailsTo({ email }: { email: string }) {
  return db().email.findMany({ where: { to: email }, orderBy: { createdAt: "asc" } })
}

/** Runs `work` while nothing can revoke the keys of the account. */
async function whileLocked({ id }: { id: string }, work: () => Promise<void>): Promise<void> {
  const client = await pool().connect()
  try {
    await client.query("BEGIN")
    await client.query("SELECT FROM users WHERE id = $1 FOR UPDATE", [id])
    await work()
  } finally {
    await client.query("ROLLBACK")
    client.release()
  }
}

const past = () => new Date(Date.now() - 1_000)

test("every kind of key gets the same status, the same body and the same headers", async () => {
  const user = await createUser()
  const secretOf = async (overrides = {}, surface: Surface = "user") =>
    (await createKey({ user, surface, ...overrides })).secret
  const keys = {
    live: await secretOf(),
    "of the other surface": await secretOf({}, "admin"),
    revoked: await secretOf({ revokedAt: past() }),
    expired: await secretOf({ expiresAt: past() }),
    unknown: newSecret("user"),
    malformed: `${newSecret("user").slice(0, -1)}!`,
    "with a wrong checksum": `${newSecret("user").slice(0, -6)}000000`,
    foreign: `ghp_${"a".repeat(36)}`,
    empty: "",
  }
  const responses = await Promise.all(
    Object.values(keys).map(async (key) => {
      const response = await report({ keys: [key] })
      expect(await openApiViolations({ path: "/api/leaks", method: "POST" }, "POST", response.clone())).toEqual([])
      const headers = Object.fromEntries(response.headers)
      return { status: response.status, body: await response.text(), headers: { ...headers, "x-request-id": "" } }
    }),
  )
  expect(responses[0]).toMatchObject({ status: 202, body: '{"data":{"received":true}}' })
  for (const response of responses) expect(response).toEqual(responses[0])
})

test("the response does not wait for the revocation", async () => {
  const { id, secret, user } = await issued()
  await whileLocked(user, async () => {
    expect((await report({ keys: [secret] })).status).toBe(202)
    expect(await stateOf(id)).toMatchObject({ revocationReason: null })
  })
  await expect.poll(() => stateOf(id)).toEqual({ revocationReason: "leaked", revokedById: null })
})

test("a key that works is revoked as leaked and audited, and its owner gets one email, however often it is reported", async () => {
  const { id, secret, start, user } = await issued()
  for (let times = 0; times < 3; times++) await report({ keys: [secret, secret, "no key"] })
  await expect.poll(() => emailsTo(user)).toHaveLength(1)
  await report({ keys: [secret] })
  await finishBackground()
  expect(await stateOf(id)).toEqual({ revocationReason: "leaked", revokedById: null })
  const entries = await db().auditEntry.findMany({ where: { targetId: id } })
  const details = { surface: "user", start, ownerId: user.id, reason: "leaked", via: "leak report" }
  expect(entries).toMatchObject([{ actorId: null, action: "api_key.revoked", details }])
  expect(await emailsTo(user)).toMatchObject([{ template: "key_leaked", subject: expect.stringContaining(start) }])
})

test.each([
  ["revoked", { revokedAt: past(), revocationReason: "not_needed" as const }],
  ["expired", { expiresAt: past() }],
])("a key that was already %s stays unchanged, and sends no email", async (_state, overrides) => {
  const { id, secret, user } = await issued("user", overrides)
  const before = await db().apiKey.findUniqueOrThrow({ where: { id } })
  await report({ keys: [secret] })
  await finishBackground()
  expect(await db().apiKey.findUniqueOrThrow({ where: { id } })).toEqual(before)
  expect(await db().auditEntry.count({ where: { targetId: id } })).toBe(0)
  expect(await emailsTo(user)).toEqual([])
})

test("a key is found in any text around it", async () => {
  const keys = [await issued(), await issued("admin"), await issued(), await issued()]
  const [first, second, third, fourth] = keys.map(({ secret }) => secret)
  const sent = [`${first}\n`, ` Authorization: Bearer ${second} `, JSON.stringify({ log: `\n${third}\n${fourth}` })]
  expect((await report({ keys: sent })).status).toBe(202)
  await finishBackground()
  for (const { id } of keys) expect(await stateOf(id)).toMatchObject({ revocationReason: "leaked" })
})

test("the hash, the start and the id of a key revoke nothing", async () => {
  const { id, secret, start } = await issued()
  const { hash } = await db().apiKey.findUniqueOrThrow({ where: { id } })
  await report({ keys: [id, start, Buffer.from(hash).toString("hex"), secret.slice(0, -1)] })
  await finishBackground()
  expect(await stateOf(id)).toMatchObject({ revocationReason: null })
})

test("a leaked key's predecessor is revoked, too; its successor keeps working", async () => {
  const user = await createUser()
  const current = await createKey({ user, surface: "user" })
  const soon = new Date(Date.now() + 3_600_000)
  const old = await createKey({ user, surface: "user", successorId: current.key.id, expiresAt: soon })
  await report({ keys: [current.secret] })
  await finishBackground()
  expect(await stateOf(current.key.id)).toMatchObject({ revocationReason: "leaked" })
  expect(await stateOf(old.key.id)).toMatchObject({ revocationReason: "other" })
  expect(await emailsTo(user)).toHaveLength(1)

  const successor = await createKey({ user, surface: "user" })
  const replaced = await createKey({ user, surface: "user", successorId: successor.key.id, expiresAt: soon })
  await report({ keys: [replaced.secret] })
  await finishBackground()
  expect(await stateOf(replaced.key.id)).toMatchObject({ revocationReason: "leaked" })
  expect(await stateOf(successor.key.id)).toMatchObject({ revocationReason: null })
})

test("a key and its predecessor, reported together, are both revoked as leaked", async () => {
  const user = await createUser()
  const current = await createKey({ user, surface: "user" })
  const soon = new Date(Date.now() + 3_600_000)
  const old = await createKey({ user, surface: "user", successorId: current.key.id, expiresAt: soon })
  await report({ keys: [current.secret, old.secret] })
  await finishBackground()
  for (const { key } of [current, old]) expect(await stateOf(key.id)).toMatchObject({ revocationReason: "leaked" })
  expect(await emailsTo(user)).toHaveLength(2)
})

test("in a report with expired keys, the key that works is revoked", async () => {
  const expired = () => issued("user", { expiresAt: past() })
  const [first, live, last] = [await expired(), await issued(), await expired()]
  await report({ keys: [first.secret, live.secret, last.secret] })
  await finishBackground()
  expect(await stateOf(live.id)).toMatchObject({ revocationReason: "leaked" })
})

test("while 500 reports wait, another one is refused; all accepted reports are processed", async () => {
  const [one, last] = [await issued(), await issued()]
  await whileLocked(one.user, async () => {
    await report({ keys: [one.secret] })
    for (let accepted = 1; accepted < 499; accepted++) await report({ keys: ["no key"] })
    expect((await report({ keys: [last.secret] })).status).toBe(202)
    const refused = await report({ keys: ["no key"] })
    expect(refused.status).toBe(503)
    expect(refused.headers.get("retry-after")).toBe("60")
  })
  await expect.poll(() => stateOf(last.id), { timeout: 20_000 }).toMatchObject({ revocationReason: "leaked" })
  expect(await stateOf(one.id)).toMatchObject({ revocationReason: "leaked" })
})

test("the owners of the service get an email about a leaked admin key, but not about a user key", async () => {
  const [owner, banned] = [await createUser({ role: "owner" }), await createUser({ role: "owner", status: "banned" })]
  const [admin, own] = [await issued("admin"), await issued("user")]
  await report({ keys: [admin.secret, own.secret] })
  await finishBackground()
  expect(await emailsTo(owner)).toMatchObject([
    { template: "admin_key_leaked", subject: expect.stringContaining(admin.start) },
  ])
  expect(await emailsTo(banned)).toEqual([])
  expect(await emailsTo(admin.user)).toMatchObject([{ template: "key_leaked" }])
})

test("a report that the database does not process in time is retried until it does", async () => {
  const { id, secret, user } = await issued()
  const failures = vi.spyOn(log(), "error").mockImplementation(() => {})
  await whileLocked(user, async () => {
    expect((await report({ keys: [secret] })).status).toBe(202)
    await expect.poll(() => failures.mock.calls.map(([, event]) => event)).toContain("background_work_failed")
  })
  await expect.poll(() => stateOf(id)).toMatchObject({ revocationReason: "leaked" })
  await expect.poll(() => emailsTo(user)).toHaveLength(1)
})

test.each<[string, unknown, number]>([
  ["no keys", { keys: [] }, 400],
  ["more than 100 keys", { keys: Array.from({ length: 101 }, () => "a") }, 400],
  ["a key that is not in a list", { keys: newSecret("user") }, 400],
  ["a key that is a number", { keys: [1] }, 400],
  ["another field", { keys: ["a"], owner: "b" }, 400],
  ["a list", [newSecret("user")], 400],
  ["no JSON", "{", 400],
  ["more than 64 KiB", { keys: ["a".repeat(65_536)] }, 413],
])("%s is refused", async (_what, body, status) => {
  const response = await report(body)
  expect(response.status).toBe(status)
  expect(await openApiViolations({ path: "/api/leaks", method: "POST" }, "POST", response)).toEqual([])
})

test("of 61 reports from one address within an hour the last is refused, and revokes nothing", async () => {
  const { id, secret } = await issued()
  const address = "192.0.2.77"
  const { tokens } = limits.leakReportsAddress
  const statuses = []
  while (statuses.length < tokens) statuses.push((await report({ keys: ["no key"] }, address)).status)
  const refused = await report({ keys: [secret] }, address)
  expect(new Set(statuses)).toEqual(new Set([202]))
  expect([refused.status, Number(refused.headers.get("retry-after")) > 0]).toEqual([429, true])
  expect((await report({ keys: ["no key"] }, "192.0.2.78")).status).toBe(202)
  await finishBackground()
  expect(await stateOf(id)).toMatchObject({ revocationReason: null })
})
