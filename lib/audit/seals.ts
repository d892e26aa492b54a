import { createHash } from "node:crypto"
import type { ClientBase, Pool, QueryConfig } from "pg"
import { signed } from "@/lib/platform/telemetry/evidence"
import { log } from "@/lib/platform/telemetry/log"

/** A day in UTC; the hash in hexadecimal. */
export type Seal = { day: string; entries: number; hash: string }

const columns = "day::text AS day, entries::float8 AS entries, encode(hash, 'hex') AS hash"

/** A million entries take seconds. */
const sealMs = 600_000

export async function sealAuditLog(database: Pool): Promise<number> {
  let sealed = 0
  while (await sealDay(database)) sealed++
  return sealed
}

async function sealDay(database: Pool): Promise<boolean> {
  const client = await database.connect()
  try {
    await client.query(`BEGIN; SET LOCAL statement_timeout = ${sealMs}`)
    const query: QueryConfig & { query_timeout: number } = {
      text: `SELECT ${columns} FROM seal_audit_day()`,
      query_timeout: sealMs,
    }
    const [seal] = (await client.query<Seal>(query)).rows
    // Before the commit: if this process dies in between, the next round makes and logs the same seal. As a warning,
    // because LOG_LEVEL=warn must not drop it.
    if (seal) log().warn(signed("audit_sealed", seal), "audit_sealed")
    await client.query("COMMIT")
    client.release()
    return seal !== undefined
  } catch (error) {
    client.release(true)
    throw error
  }
}

export async function firstUnsealedDay(database: Pool): Promise<Date> {
  const { rows } = await database.query<{ day: Date }>(
    `SELECT coalesce(
       (SELECT max(day) + 1 FROM audit_seals)::timestamp AT TIME ZONE 'UTC',
       date_trunc('day', (SELECT min(created_at) FROM audit_entries), 'UTC'),
       date_trunc('day', clock_timestamp(), 'UTC')) AS day`,
  )
  return rows[0]?.day ?? new Date()
}

export type KnownSeal = Pick<Seal, "day" | "hash">

type Verified = { ok: boolean; message: string }

/**
 * Reads one snapshot, and calls nothing in the database that the owner of the tables can replace.
 * @param known seals from the log, which a change in the database leaves as they are
 */
export async function verifyAuditLog(client: ClientBase, known: readonly KnownSeal[] = []): Promise<Verified> {
  await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
  try {
    const found = await tablesFound(client)
    // The owner can change the defaults of both.
    await client.query("SET LOCAL search_path = pg_catalog; SET LOCAL datestyle = 'ISO'")
    if (!(await arePlain(client, found))) return failed("The tables of the audit log differ from the migrations.")
    return await verify(client, known)
  } finally {
    await client.query("ROLLBACK")
  }
}

async function tablesFound(client: ClientBase): Promise<unknown[]> {
  const { rows } = await client.query({
    text: "SELECT pg_catalog.to_regclass('audit_entries')::oid, pg_catalog.to_regclass('audit_seals')::oid",
    rowMode: "array",
  })
  return rows[0] ?? []
}

/** A plain table has no view, rule, policy, child or type that shows other readers different rows. */
async function arePlain(client: ClientBase, found: readonly unknown[]): Promise<boolean> {
  const { rows } = await client.query<{ plain: boolean }>(
    `SELECT count(*) = 2 AS plain FROM pg_class c
     WHERE oid = ANY ($1::oid[]) AND relnamespace = 'public'::regnamespace AND relname IN ('audit_entries', 'audit_seals')
       AND relkind = 'r' AND NOT relrowsecurity AND NOT relhasrules AND NOT relhassubclass
       AND NOT EXISTS (
         SELECT FROM pg_attribute a JOIN pg_type t ON t.oid = atttypid
         WHERE attrelid = c.oid AND typnamespace <> 'pg_catalog'::regnamespace)`,
    [found],
  )
  return rows[0]?.plain === true
}

async function verify(client: ClientBase, known: readonly KnownSeal[]): Promise<Verified> {
  const { rows: seals } = await client.query<Seal>(`SELECT ${columns} FROM public.audit_seals ORDER BY day`)
  const { rows } = await client.query<{ firstEntry: string | null; yesterday: string; undated: boolean }>(
    `SELECT (min(created_at) AT TIME ZONE 'UTC')::date::text AS "firstEntry",
       ((clock_timestamp() AT TIME ZONE 'UTC')::date - 1)::text AS yesterday,
       EXISTS (
         SELECT FROM public.audit_entries
         WHERE created_at IS NULL OR created_at > greatest(clock_timestamp(),
           (SELECT max(day) + 1 FROM public.audit_seals)::timestamp AT TIME ZONE 'UTC')) AS undated
     FROM public.audit_entries`,
  )
  const { firstEntry = null, yesterday = "", undated } = rows[0] ?? {}
  if (undated) return failed("An entry is dated in the future, or has no date.")
  const [first, last] = [seals.at(0)?.day, seals.at(-1)?.day]
  if (firstEntry && firstEntry < (first ?? yesterday)) return failed(`${firstEntry} has entries, but is not sealed.`)

  let [day, before, entries] = [first, "00".repeat(32), 0]
  for (const seal of seals) {
    if (day !== seal.day) return failed(`${day} is not sealed, but later days are.`)
    const computed = await sealOf(client, day, before)
    if (computed.entries !== seal.entries) {
      return failed(`${day} has ${computed.entries} entries, but ${seal.entries} were sealed.`)
    }
    if (computed.hash !== seal.hash) return failed(`${day} has an entry or a seal that was changed.`)
    const other = known.find((one) => one.day === seal.day && one.hash !== seal.hash)
    if (other) {
      const changed = `${day} has the seal ${seal.hash}, not ${other.hash}: this day or an earlier one was changed and sealed again.`
      return failed(changed + (await restoredTo(client, day)))
    }
    ;[day, before, entries] = [dayAfter(day), seal.hash, entries + seal.entries]
  }
  const missing = known.find((one) => !seals.some((seal) => seal.day === one.day))
  if (missing) return failed(`${missing.day} is not sealed.${await restoredTo(client, missing.day)}`)
  // Yesterday may wait for the next round of the sweeper.
  if (day && day < yesterday) return failed(`${day} is not sealed. Does the sweeper run?`)
  if (!last) return failed("No day of the audit log is sealed.")
  return { ok: true, message: `${seals.length} days from ${first} to ${last} match their seals: ${entries} entries.` }
}

/** The seal in the log may be from before the database was restored to an earlier moment. */
async function restoredTo(client: ClientBase, day: string): Promise<string> {
  const { rows } = await client.query<{ at: Date; moment: string }>(
    `SELECT created_at AS at, details->>'moment' AS moment FROM public.audit_entries
     WHERE action = 'database.restored' AND created_at >= $1::timestamptz
       AND (details->>'moment')::timestamptz < $1::timestamptz
     ORDER BY created_at DESC LIMIT 1`,
    [`${dayAfter(day)} 00:00Z`],
  )
  const [entry] = rows
  if (!entry) return ""
  return ` The audit log says that the database was restored to ${entry.moment} at ${entry.at.toISOString()}: if you did that, verify with a line from after it.`
}

function failed(message: string): Verified {
  return { ok: false, message }
}

/** As docs/operation.md describes it; the database computes the same with `audit_seal_of`. */
async function sealOf(client: ClientBase, day: string, before: string): Promise<Seal> {
  let [entries, chain] = [0, Buffer.alloc(0)]
  for await (const fields of entriesOf(client, day)) {
    chain = sha256(chain, ...fields.map((field) => `${field ?? ""}\0`))
    entries++
  }
  return { day, entries, hash: sha256(Buffer.from(before, "hex"), day, chain).toString("hex") }
}

function sha256(...parts: readonly (string | Buffer)[]): Buffer<ArrayBuffer> {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part)
  return hash.digest() as Buffer<ArrayBuffer>
}

async function* entriesOf(client: ClientBase, day: string): AsyncGenerator<(string | null)[]> {
  await client.query(
    `DECLARE entries NO SCROLL CURSOR FOR
     SELECT id::text, (extract(epoch FROM created_at) * 1000)::bigint::text, actor_id::text, action, target_type, target_id,
       details::text
     FROM public.audit_entries WHERE created_at >= $1::timestamptz AND created_at < $2::timestamptz ORDER BY created_at, id`,
    [`${day} 00:00Z`, `${dayAfter(day)} 00:00Z`],
  )
  for (;;) {
    const { rows } = await client.query<(string | null)[]>({ text: "FETCH 500 FROM entries", rowMode: "array" })
    if (rows.length === 0) break
    yield* rows
  }
  await client.query("CLOSE entries")
}

export function dayAfter(day: string): string {
  return new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10)
}
