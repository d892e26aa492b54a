import { v7 as uuidv7 } from "uuid"
import type { OwnerId } from "@/lib/authority/owner"
import { idempotencyHours } from "@/lib/credits/ledger"
import { pool } from "@/lib/platform/postgres/pool"
import { waits } from "@/lib/platform/postgres/waits"

/** Of the time in which an intent can be run, by the database clock. */
export const lifetimeMinutes = 10

/** Of an account. */
export const maxOpen = 100

/** `maxCost`: credits. `body`: JSON. `fingerprint`: as that of its run. */
type Checked = { call: string; maxCost: number; fingerprint: Buffer; body: string }

type Inserted = { createdAt: Date; expiresAt: Date; balance: number }

// The lock is taken by a statement of its own, so that the next one sees the intents of calls that held it before.
const lockIntents = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"

const insertIntent = {
  name: "insert-run-intent",
  text: `
    WITH open AS (
      SELECT expires_at FROM run_intents
      WHERE user_id = $2 AND body IS NOT NULL AND expires_at > statement_timestamp()),
    inserted AS (
      INSERT INTO run_intents (id, user_id, call, max_cost, fingerprint, body, created_at, expires_at)
      SELECT $1::uuid, $2::uuid, $3, $4::bigint, $5::bytea, $6, made_at, made_at + make_interval(mins => $7)
      FROM date_trunc('milliseconds', statement_timestamp()) AS made_at WHERE (SELECT count(*) FROM open) < $8::bigint
      RETURNING created_at, expires_at)
    SELECT created_at, inserted.expires_at,
           coalesce((SELECT balance FROM credit_accounts WHERE user_id = $2), 0) AS balance,
           (SELECT ceil(extract(epoch FROM min(expires_at) - statement_timestamp()))::int FROM open) AS seconds
    FROM (VALUES (0)) AS request LEFT JOIN inserted ON true`,
}

/** @returns the seconds until the first one expires, if the account has as many as it may have */
export async function insert(
  owner: OwnerId,
  { call, maxCost, fingerprint, body }: Checked,
): Promise<({ ok: true; id: string } & Inserted) | { ok: false; seconds: number }> {
  const id = uuidv7()
  const values = [id, owner, call, maxCost, fingerprint, body, lifetimeMinutes, maxOpen]
  const client = await pool().connect()
  try {
    // If this machine is lost in between, PostgreSQL would keep the lock until TCP gives up.
    await client.query(`BEGIN; SET LOCAL idle_in_transaction_session_timeout = ${waits().response}`)
    await client.query(lockIntents, [`run intents of ${owner}`])
    const { rows } = await client.query({ ...insertIntent, values })
    await client.query("COMMIT")
    client.release()
    const [{ created_at: createdAt, expires_at: expiresAt, balance, seconds }] = rows
    return createdAt ? { ok: true, id, createdAt, expiresAt, balance: Number(balance) } : { ok: false, seconds }
  } catch (error) {
    // Closing the connection rolls back in any state.
    client.release(true)
    throw error
  }
}

// A run with another fingerprint was made with the intent's id as an Idempotency-Key. Its state is compared inside CASE,
// as in closeStatement.
const findIntent = {
  name: "find-run-intent",
  text: `
    SELECT i.id, i.call, i.max_cost, i.fingerprint, i.body, i.expires_at, i.expires_at <= now() AS expired,
           r.state = 'reserved' AS running, r.response_body AS response
    FROM run_intents i LEFT JOIN runs r ON r.user_id = $2 AND r.idempotency_key = i.id::text AND r.fingerprint = i.fingerprint
      AND CASE r.state WHEN 'settled' THEN r.ended_at > now() - make_interval(hours => $3) ELSE r.expires_at > now() END
    WHERE i.id = $1 AND i.user_id = $2`,
}

export type RunIntent = {
  id: string
  call: string
  max_cost: string
  fingerprint: Buffer
  /** `null` once the intent was run or has expired. */
  body: string | null
  expires_at: Date
  expired: boolean
  /** `null` without a run. */
  running: boolean | null
  /** Of a settled run, as long as it is stored. */
  response: string | null
}

export async function find(owner: OwnerId, id: string): Promise<RunIntent | undefined> {
  const { rows } = await pool().query<RunIntent>({ ...findIntent, values: [id, owner, idempotencyHours] })
  return rows[0]
}

/** An intent that was run is no longer open, and needs no body. */
export async function removeBody(owner: OwnerId, id: string): Promise<void> {
  const text = "UPDATE run_intents SET body = NULL WHERE id = $1 AND user_id = $2 AND body IS NOT NULL"
  await pool().query(text, [id, owner])
}
