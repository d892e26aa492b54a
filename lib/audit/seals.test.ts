import { randomUUID } from "node:crypto"
import pg from "pg"
import { beforeEach, expect, test, vi } from "vitest"
import { env } from "@/lib/env"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { withSettings } from "@/lib/platform/postgres/settings"
import { log } from "@/lib/platform/telemetry/log"
import { createAuditEntries, withoutTriggers } from "@/tests/support/factories"
import { isSigned } from "@/tests/support/log-lines"
import { ownerPool, ownerUrl, withOptions } from "@/tests/support/owner"
import { audit } from "./entries"
import { firstUnsealedDay, type Seal, sealAuditLog, verifyAuditLog } from "./seals"

const dayMs = 86_400_000

/** A day (UTC) before today. */
function daysAgo(days: number): string {
  return new Date(Date.now() - days * dayMs).toISOString().slice(0, 10)
}

/** An entry with all columns. */
function entryAt(createdAt: string) {
  const [actorId, targetId] = [randomUUID(), randomUUID()]
  const details = { zoë: [1.5, null], a: '"\\\n' }
  return { actorId, action: "user.renamed", targetType: "user", targetId, details, createdAt }
}

function entry() {
  return { actorId: null, action: "user.renamed", targetType: "user", targetId: randomUUID() } as const
}

// Two days with entries, one of them with two at the same time, between days without.
const written = [`${daysAgo(5)}T00:00:00.000Z`, `${daysAgo(3)}T12:00:00.123Z`, `${daysAgo(3)}T12:00:00.123Z`]

beforeEach(async () => {
  await withoutTriggers("TRUNCATE audit_entries, audit_seals", [])
  await createAuditEntries(written.map(entryAt))
})

async function seals(): Promise<Seal[]> {
  const columns = "day::text AS day, entries::int AS entries, encode(hash, 'hex') AS hash"
  return (await pool().query<Seal>(`SELECT ${columns} FROM audit_seals ORDER BY day`)).rows
}

async function verify(...known: { day: string; hash: string }[]) {
  const client = await ownerPool().connect()
  try {
    return await verifyAuditLog(client, known)
  } finally {
    client.release()
  }
}

test("every day that is over is sealed once and in order, however many processes do it, and the seals are in the log", async () => {
  await audit(db(), entry())
  const warn = vi.spyOn(log(), "warn")
  const instances = Array.from({ length: 4 }, () => new pg.Pool({ connectionString: withSettings(env().DATABASE_URL) }))
  const sealed = await Promise.all(instances.map(sealAuditLog))
  await Promise.all(instances.map((instance) => instance.end()))
  expect(sealed.reduce((sum, days) => sum + days, 0) + (await sealAuditLog(pool()))).toBe(5)
  expect((await seals()).map(({ day, entries }) => [day, entries])).toEqual([
    [daysAgo(5), 1],
    [daysAgo(4), 0],
    [daysAgo(3), 2],
    [daysAgo(2), 0],
    [daysAgo(1), 0],
  ])
  expect(warn.mock.calls).toEqual((await seals()).map((seal) => [expect.objectContaining(seal), "audit_sealed"]))
  for (const [line] of warn.mock.calls) expect(isSigned("audit_sealed", line)).toBe(true)
  expect(await verify()).toEqual({
    ok: true,
    message: `5 days from ${daysAgo(5)} to ${daysAgo(1)} match their seals: 3 entries.`,
  })
})

test("an audit log without entries has no seals, and one with entries of today none yet", async () => {
  await withoutTriggers("TRUNCATE audit_entries", [])
  for (const write of [async () => {}, () => audit(db(), entry())]) {
    await write()
    expect(await sealAuditLog(pool())).toBe(0)
    expect(await verify()).toEqual({ ok: false, message: "No day of the audit log is sealed." })
  }
})

test("the first unsealed day is the day of the first entry, then the day that cannot be sealed, and today if none is left", async () => {
  const unsealed = async () => (await firstUnsealedDay(pool())).toISOString()
  expect(await unsealed()).toBe(`${daysAgo(5)}T00:00:00.000Z`)
  const client = await ownerPool().connect()
  await client.query("BEGIN")
  // As a transaction that has written an entry on this day.
  await client.query("SELECT pg_advisory_xact_lock_shared(hashtext('audit_seals'), audit_day_key($1))", [daysAgo(3)])
  await sealAuditLog(pool())
  expect(await unsealed()).toBe(`${daysAgo(3)}T00:00:00.000Z`)
  await client.query("ROLLBACK")
  client.release()
  await sealAuditLog(pool())
  expect(await unsealed()).toBe(`${daysAgo(0)}T00:00:00.000Z`)
  await withoutTriggers("TRUNCATE audit_entries, audit_seals", [])
  expect(await unsealed()).toBe(`${daysAgo(0)}T00:00:00.000Z`)
})

/** Changes a function in the database as its owner can, as long as `during` runs. */
async function replaceFunction(name: string, change: (source: string) => string, during: () => Promise<void>) {
  const definition = `SELECT pg_get_functiondef('${name}'::regproc) AS text`
  const [original] = (await ownerPool().query<{ text: string }>(definition)).rows
  const changed = change(original?.text ?? "")
  expect(changed).not.toBe(original?.text)
  await ownerPool().query(changed)
  try {
    await during()
  } finally {
    await ownerPool().query(original?.text ?? "")
  }
}

test("the database and verification compute the same seal independently, also of 1,200 entries on one day", async () => {
  const createdAt = `${daysAgo(2)}T10:00:00.001Z`
  await createAuditEntries(Array.from({ length: 1_200 }, () => entryAt(createdAt)))
  await sealAuditLog(pool())
  expect(await verify()).toMatchObject({ ok: true, message: expect.stringContaining("1203 entries") })
  await replaceFunction(
    "audit_entry_bytes",
    (source) => source.replace("e.target_id", "lower(e.target_id) || ' '"),
    async () => {
      await withoutTriggers("TRUNCATE audit_seals", [])
      await sealAuditLog(pool())
      expect(await verify()).toEqual({ ok: false, message: `${daysAgo(5)} has an entry or a seal that was changed.` })
    },
  )
})

test.each([
  [
    "audit_seal_of",
    (source: string) =>
      source.replace(/AS \$function\$.*\$function\$/s, "AS 'SELECT s FROM audit_seals s WHERE s.day = on_day'"),
  ],
  ["audit_entry_bytes", (source: string) => source.replace("convert_to(e.action, 'UTF8')", "'user.renamed'::bytea")],
  ["utc_day", (source: string) => source.replace(/AS \$function\$.*\$function\$/s, "AS 'SELECT NULL::date'")],
])("tampering is detected even if the function %s is replaced", async (name, change) => {
  await sealAuditLog(pool())
  await withoutTriggers("UPDATE audit_entries SET action = 'user.banned'", [])
  await replaceFunction(name, change, async () => {
    expect(await verify()).toEqual({ ok: false, message: `${daysAgo(5)} has an entry or a seal that was changed.` })
  })
})

test("functions with the names of PostgreSQL's own do not deceive verification", async () => {
  await sealAuditLog(pool())
  await withoutTriggers("UPDATE audit_entries SET action = 'user.banned'", [])
  const [seal] = await seals()
  await ownerPool().query(`
    CREATE SCHEMA deceiving;
    CREATE FUNCTION deceiving.encode(bytea, text) RETURNS text LANGUAGE sql AS $$ SELECT '${seal?.hash}' $$`)
  const client = new pg.Client({
    connectionString: withOptions(ownerUrl(), "-c search_path=deceiving,pg_catalog,public"),
  })
  await client.connect()
  try {
    const known = { day: daysAgo(5), hash: seal?.hash ?? "" }
    expect(await verifyAuditLog(client, [known])).toMatchObject({
      ok: false,
      message: expect.stringContaining("changed"),
    })
    expect((await client.query("SHOW search_path")).rows).toEqual([{ search_path: "deceiving,pg_catalog,public" }])
  } finally {
    await client.end()
    await ownerPool().query("DROP SCHEMA deceiving CASCADE")
  }
})

const changes: Record<string, string> = {
  id: "id = gen_random_uuid()",
  actor_id: "actor_id = NULL",
  action: "action = 'user.banned'",
  target_type: "target_type = 'api_key'",
  target_id: "target_id = upper(target_id) || 'x'",
  details: `details = details || '{"a": ""}'`,
  created_at: "created_at = created_at + interval '1 millisecond'",
}

test("the change of any column of an entry changes its seal", async () => {
  const { rows } = await pool().query<{ name: string }>(
    "SELECT column_name AS name FROM information_schema.columns WHERE table_name = 'audit_entries'",
  )
  expect(Object.keys(changes).sort()).toEqual(rows.map(({ name }) => name).sort())
})

const third = `day = '${daysAgo(3)}'`

test.each([
  ...Object.entries(changes).map(([column, change]) => [
    `an entry with another ${column}`,
    `UPDATE audit_entries SET ${change} WHERE created_at = (SELECT min(created_at) FROM audit_entries)`,
    `${daysAgo(5)} has an entry or a seal that was changed.`,
  ]),
  [
    "a removed entry",
    "DELETE FROM audit_entries WHERE id = (SELECT id FROM audit_entries ORDER BY created_at DESC LIMIT 1)",
    `${daysAgo(3)} has 1 entries, but 2 were sealed.`,
  ],
  [
    "an entry that moved to another day",
    "UPDATE audit_entries SET created_at = created_at + interval '1 day' WHERE created_at = (SELECT min(created_at) FROM audit_entries)",
    `${daysAgo(5)} has 0 entries, but 1 were sealed.`,
  ],
  [
    "an added entry",
    `INSERT INTO audit_entries (id, action, target_type, target_id, created_at) VALUES (gen_random_uuid(), 'x', 'user', 'x', '${daysAgo(2)}')`,
    `${daysAgo(2)} has 1 entries, but 0 were sealed.`,
  ],
  [
    "an entry before all seals",
    `INSERT INTO audit_entries (id, action, target_type, target_id, created_at) VALUES (gen_random_uuid(), 'x', 'user', 'x', '${daysAgo(9)}')`,
    `${daysAgo(9)} has entries, but is not sealed.`,
  ],
  [
    "a changed seal",
    `UPDATE audit_seals SET hash = sha256('x') WHERE ${third}`,
    `${daysAgo(3)} has an entry or a seal that was changed.`,
  ],
  [
    "a seal of another number",
    `UPDATE audit_seals SET entries = 3 WHERE ${third}`,
    `${daysAgo(3)} has 2 entries, but 3 were sealed.`,
  ],
  [
    "seals in another order",
    `UPDATE audit_seals s SET hash = other.hash FROM audit_seals other WHERE s.day <> other.day AND least(s.day, other.day) = '${daysAgo(2)}'`,
    `${daysAgo(2)} has an entry or a seal that was changed.`,
  ],
  ["a removed seal", `DELETE FROM audit_seals WHERE ${third}`, `${daysAgo(3)} is not sealed, but later days are.`],
  [
    "a removed first seal",
    `DELETE FROM audit_seals WHERE day = '${daysAgo(5)}'`,
    `${daysAgo(5)} has entries, but is not sealed.`,
  ],
  [
    "removed last seals",
    `DELETE FROM audit_seals WHERE day >= '${daysAgo(2)}'`,
    `${daysAgo(2)} is not sealed. Does the sweeper run?`,
  ],
  ["no seals at all", "TRUNCATE audit_seals", `${daysAgo(5)} has entries, but is not sealed.`],
])("verification names the first bad day: %s", async (_what, tampering, message) => {
  await sealAuditLog(pool())
  await withoutTriggers(tampering, [])
  expect(await verify()).toEqual({ ok: false, message })
})

test.each([
  [
    "a policy hides an entry from readers",
    `INSERT INTO audit_entries (id, action, target_type, target_id, created_at)
       VALUES (gen_random_uuid(), 'user.renamed', 'user', 'x', '${daysAgo(3)}');
     ALTER TABLE audit_entries ENABLE ROW LEVEL SECURITY;
     CREATE POLICY readers ON audit_entries
       USING (target_id <> 'x' OR current_setting('transaction_read_only') = 'off')`,
    "ALTER TABLE audit_entries DISABLE ROW LEVEL SECURITY; DROP POLICY readers ON audit_entries",
  ],
  [
    "a view is in the place of the table",
    "ALTER TABLE audit_entries RENAME TO kept; CREATE VIEW audit_entries AS SELECT * FROM kept",
    "DROP VIEW audit_entries; ALTER TABLE kept RENAME TO audit_entries",
  ],
  [
    "another table is before it in the search path",
    `CREATE SCHEMA other; CREATE TABLE other.audit_entries (LIKE audit_entries);
     ALTER ROLE CURRENT_USER SET search_path = other, public`,
    "DROP SCHEMA other CASCADE; ALTER ROLE CURRENT_USER RESET search_path",
  ],
])("it is not verified if %s", async (_what, tampering, restoring) => {
  await sealAuditLog(pool())
  await withoutTriggers(tampering, [])
  const client = new pg.Client({ connectionString: withSettings(ownerUrl()) })
  try {
    await client.connect()
    expect(await verifyAuditLog(client)).toEqual({
      ok: false,
      message: "The tables of the audit log differ from the migrations.",
    })
  } finally {
    await client.end()
    await ownerPool().query(restoring)
  }
})

test.each(["infinity", "12000-01-01", "2060-01-01"])("an entry at %s is found, though no day has it", async (time) => {
  await sealAuditLog(pool())
  await withoutTriggers(
    `INSERT INTO audit_entries (id, action, target_type, target_id, created_at)
     VALUES (gen_random_uuid(), 'user.renamed', 'user', 'x', $1)`,
    [time],
  )
  expect(await verify()).toEqual({ ok: false, message: "An entry is dated in the future, or has no date." })
})

test("a seal from the log reveals an entry that was changed and sealed again with all later days", async () => {
  await sealAuditLog(pool())
  const logged = await seals()
  await withoutTriggers(`DELETE FROM audit_entries WHERE created_at >= '${daysAgo(3)}'`, [])
  await withoutTriggers(`DELETE FROM audit_seals WHERE day >= '${daysAgo(3)}'`, [])
  await sealAuditLog(pool())
  expect(await verify()).toMatchObject({ ok: true })
  for (const { day, hash } of logged.slice(0, 2)) expect(await verify({ day, hash })).toMatchObject({ ok: true })
  const again = await seals()
  for (const [index, { day, hash }] of logged.entries()) {
    if (index < 2) continue
    const message = `${day} has the seal ${again[index]?.hash}, not ${hash}: this day or an earlier one was changed and sealed again.`
    expect(await verify({ day, hash })).toEqual({ ok: false, message })
  }
  expect(await verify({ day: daysAgo(8), hash: "ab".repeat(32) })).toEqual({
    ok: false,
    message: `${daysAgo(8)} is not sealed.`,
  })
})

test("the database dates an entry and ignores a time from a release or the owner", async () => {
  const [id, createdAt] = [randomUUID(), new Date("2020-01-01")]
  const { actorId, action, targetType, targetId } = entry()
  const { rows } = await ownerPool().query(
    `INSERT INTO audit_entries (id, actor_id, action, target_type, target_id, created_at) VALUES ($1, $2, $3, $4, $5, $6)
     RETURNING id::text, created_at, clock_timestamp() - created_at < interval '1 minute' AS now`,
    [id, actorId, action, targetType, targetId, createdAt],
  )
  expect(rows).toMatchObject([{ now: true }])
  // A UUIDv7 of the same millisecond.
  const made = rows[0].id.replaceAll("-", "")
  expect(Number.parseInt(made.slice(0, 12), 16)).toBe(rows[0].created_at.getTime())
  expect(made).toMatch(/^.{12}7.{3}[89ab]/)
})

test("entries of one transaction sort as they were written", async () => {
  const targets = Array.from({ length: 50 }, () => randomUUID())
  await db().$transaction(async (transaction) => {
    for (const targetId of targets) await audit(transaction, { ...entry(), targetId })
  })
  const where = { targetId: { in: targets } }
  const found = await db().auditEntry.findMany({ where, orderBy: [{ createdAt: "asc" }, { id: "asc" }] })
  expect(found.map(({ targetId }) => targetId)).toEqual(targets)
})

/** A connection of the runtime role with another clock for its entries. */
async function connectAt(time: string): Promise<pg.Client> {
  const schema = `clock_${randomUUID().replaceAll("-", "")}`
  await ownerPool().query(`
    CREATE SCHEMA ${schema};
    GRANT USAGE ON SCHEMA ${schema} TO PUBLIC;
    CREATE FUNCTION ${schema}.clock_timestamp() RETURNS timestamptz LANGUAGE sql STABLE AS $$ SELECT '${time}'::timestamptz $$`)
  const options = `-c search_path=${schema},pg_catalog,public`
  const client = new pg.Client({ connectionString: withOptions(env().DATABASE_URL, options) })
  await client.connect()
  return client
}

const insert = `INSERT INTO audit_entries (action, target_type, target_id) VALUES ('user.renamed', 'user', 'x') RETURNING created_at`

test("a transaction that wrote an entry before midnight holds back the seal of that day, and is in it", async () => {
  const client = await connectAt(`${daysAgo(1)}T23:59:59.9999Z`)
  try {
    await client.query("BEGIN")
    const { rows } = await client.query(insert)
    expect(rows[0].created_at.toISOString()).toBe(`${daysAgo(1)}T23:59:59.999Z`)
    await sealAuditLog(pool())
    expect((await seals()).at(-1)?.day).toBe(daysAgo(2))
    await client.query("COMMIT")
    expect(await sealAuditLog(pool())).toBe(1)
    expect((await seals()).at(-1)).toMatchObject({ day: daysAgo(1), entries: 1 })
    expect(await verify()).toMatchObject({ ok: true })
  } finally {
    await client.end()
  }
})

test("no entry gets into a sealed day, even if the clock is set back", async () => {
  await sealAuditLog(pool())
  const client = await connectAt(`${daysAgo(1)}T12:00:00Z`)
  try {
    const { rows } = await client.query(insert)
    expect(rows[0].created_at.toISOString()).toBe(`${daysAgo(0)}T00:00:00.000Z`)
    expect(await verify()).toMatchObject({ ok: true })
  } finally {
    await client.end()
  }
})

test("an entry that waits while its day is sealed is dated after it", async () => {
  const [sealing, client] = [new pg.Client(withSettings(ownerUrl())), await connectAt(`${daysAgo(1)}T23:59:59Z`)]
  await sealing.connect()
  try {
    await sealing.query("BEGIN")
    for (let day = 0; day < 5; day++) await sealing.query("SELECT seal_audit_day()")
    const inserted = client.query(insert)
    const waiting = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    await expect.poll(async () => (await ownerPool().query(waiting)).rowCount).toBe(1)
    await sealing.query("COMMIT")
    expect((await inserted).rows[0].created_at.toISOString()).toBe(`${daysAgo(0)}T00:00:00.000Z`)
    expect(await verify()).toMatchObject({ ok: true })
  } finally {
    await sealing.end()
    await client.end()
  }
})

test("an entry too long to seal is refused, and the longest that the product writes is accepted", async () => {
  const write = (...[action, type, target, details]: readonly string[]) =>
    pool().query("INSERT INTO audit_entries (action, target_type, target_id, details) VALUES ($1, $2, $3, $4)", [
      action,
      type,
      target,
      details,
    ])
  const long = "x".repeat(301)
  for (const entry of [
    [long, "user", "x", "{}"],
    ["x", long, "x", "{}"],
    ["x", "user", long, "{}"],
    ["x", "user", "x", JSON.stringify("é".repeat(40_000))],
    ["x", "user", "x", JSON.stringify("\u0001".repeat(20_000))],
  ] as const) {
    // check_violation (PostgreSQL manual, appendix A)
    await expect(write(...entry)).rejects.toMatchObject({ code: "23514" })
  }
  await write("x".repeat(300), "user", "x".repeat(300), JSON.stringify("é".repeat(30_000)))
})
