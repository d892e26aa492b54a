import { randomUUID } from "node:crypto"
import pg from "pg"
import { afterEach, expect, test, vi } from "vitest"
import { usageDays } from "@/lib/keys/choices"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { foldRequestSums } from "@/lib/platform/postgres/request-sums"
import { withSettings } from "@/lib/platform/postgres/settings"
import { createKey, createUser, requestWith } from "@/tests/support/factories"
import { ownerPool, ownerUrl } from "@/tests/support/owner"
import { dropOldRequests, firstLoggedDay } from "./retention"
import { writeEntries } from "./write"

const day = 86_400_000

afterEach(() => {
  vi.useRealTimers()
})

async function keyUsedAt(...times: readonly Date[]) {
  const { key } = await createKey({ user: await createUser(), surface: "user" })
  await writeEntries(
    pool(),
    times.map((createdAt) => requestWith(key, { createdAt })),
  )
  await foldRequestSums()
  return { keyId: key.id }
}

test("a day that is no longer shown is dropped with its sums, and the total activity of the key stays", async () => {
  const first = firstLoggedDay()
  const key = await keyUsedAt(new Date(first.getTime() - 1), first, new Date())
  expect(await dropOldRequests()).toBe(1)
  const kept = await db().keyRequest.findMany({ where: key, orderBy: { createdAt: "asc" } })
  expect(kept.map(({ createdAt }) => createdAt)).toEqual([first, expect.any(Date)])
  expect(await db().keyRequestSum.count({ where: key })).toBe(2)
  expect(await db().keyUsage.count({ where: { ...key, unit: "day" } })).toBe(3)
  expect(await db().keyReach.findMany({ where: key })).toMatchObject([{ requests: 3n }])
})

test("usage by hour and by day is kept for 400 days", async () => {
  const key = await keyUsedAt()
  const { userId } = await db().apiKey.findUniqueOrThrow({ where: { id: key.keyId }, select: { userId: true } })
  const old = new Date(Date.now() - usageDays * day - 60_000)
  const kept = new Date(old.getTime() + day)
  for (const unit of ["hour", "day"] as const) {
    await db().keyUsage.createMany({ data: [old, kept].map((createdAt) => ({ ...key, userId, unit, createdAt })) })
  }
  await dropOldRequests()
  const found = await db().keyUsage.findMany({ where: key, orderBy: { unit: "asc" } })
  expect(found.map(({ unit, createdAt }) => [unit, createdAt])).toEqual([
    ["hour", kept],
    ["day", kept],
  ])
})

test("the activity of a key is deleted 400 days after the key's end", async () => {
  const ago = (days: number) => new Date(Date.now() - days * day)
  const ends = [
    ...[{}, { revokedAt: ago(usageDays - 1) }, { expiresAt: ago(usageDays - 1) }],
    ...[{ revokedAt: ago(usageDays + 1) }, { expiresAt: ago(usageDays + 1), revokedAt: ago(1) }],
  ]
  const isKept: boolean[] = []
  const keys = await Promise.all(ends.map(() => keyUsedAt(new Date())))
  for (const [place, { keyId }] of keys.entries()) {
    await db().apiKey.update({ where: { id: keyId }, data: { createdAt: ago(usageDays + 2), ...ends[place] } })
  }
  await dropOldRequests()
  for (const key of keys) isKept.push((await db().keyReach.count({ where: key })) > 0)
  expect(isKept).toEqual([true, true, true, false, false])
})

test("a server whose clock is ahead drops nothing", async () => {
  const key = await keyUsedAt(new Date())
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 500 * day })
  expect(await dropOldRequests()).toBe(0)
  expect(await db().keyRequest.count({ where: key })).toBe(1)
  expect(await db().keyUsage.count({ where: key })).toBe(2)
})

test("a day that is not over is not dropped, even if the caller names a later day", async () => {
  const key = await keyUsedAt(new Date(Date.now() - day), new Date())
  const drop = "SELECT drop_request_log_day('2999-01-01') AS dropped"
  while ((await pool().query(drop)).rows[0].dropped);
  const [kept, ...others] = await db().keyRequest.findMany({ where: key })
  expect(others).toEqual([])
  expect(kept?.createdAt.toISOString().slice(0, 10)).toBe(new Date().toISOString().slice(0, 10))
})

test("only days around today are added, so that nobody fills the database with empty ones", async () => {
  const add = (days: number) => pool().query("SELECT add_request_log_day(utc_day(now()) + $1::int)", [days])
  for (const days of [-401, 3, 100_000]) await expect(add(days)).rejects.toMatchObject({ code: "23514" })
  for (const days of [-400, 2]) await add(days)
})

test("only a role that writes the log adds and drops its days", async () => {
  const key = await keyUsedAt(new Date())
  const role = `reader_${randomUUID().replaceAll("-", "")}`
  await ownerPool().query(`
    CREATE ROLE ${role}; GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role};
    GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO ${role}`)
  const client = new pg.Client({ connectionString: withSettings(ownerUrl()) })
  await client.connect()
  try {
    await client.query(`SET ROLE ${role}`)
    for (const call of ["drop_request_log_day('2999-01-01')", "add_request_log_day('2999-01-01')"]) {
      await expect(client.query(`SELECT ${call}`)).rejects.toThrow("permission denied for table key_requests")
    }
    expect(await db().keyRequest.count({ where: key })).toBe(1)
    await ownerPool().query(`GRANT INSERT ON key_requests TO ${role}`)
    await client.query("SELECT add_request_log_day(utc_day(now()))")
  } finally {
    await client.end()
    await ownerPool().query(`DROP OWNED BY ${role}; DROP ROLE ${role}`)
  }
})
