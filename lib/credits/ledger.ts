import { v7 as uuidv7 } from "uuid"
import type { OwnerId } from "@/lib/accounts/owner"
import { isDatabaseUnavailable } from "@/lib/postgres/failures"
import { pool } from "@/lib/postgres/pool"

/** How long a reservation holds its credits; longer than any work may take, and than a server takes to shut down. */
export const reservationSeconds = 60

/** How long an Idempotency-Key answers with the stored response, by the database's clock. */
export const idempotencyHours = 24

export type Reservation = { runId: string; createdAt: Date }

export type ReserveResult =
  | ({ ok: true } & Reservation)
  /** Nothing was stored: the idempotency key is still free. */
  | { ok: false; reason: "insufficient"; balance: number }
  /** A run with this idempotency key and body has settled: its response. */
  | { ok: false; reason: "settled"; body: string }
  | { ok: false; reason: "in_progress"; secondsLeft: number }
  | { ok: false; reason: "mismatch" }
  /** Whenever it was looked at there was enough, and whenever it was taken others had been faster. */
  | { ok: false; reason: "busy" }

export type ReserveRequest = {
  owner: OwnerId
  keyId: string
  /** Unique for its owner; without one every call is a new run. */
  idempotencyKey: string | null
  /** SHA-256 of what was asked for: the same key with another one is refused. */
  fingerprint: Buffer
  /** Credits, at least 1. */
  amount: number
}

// An entry's time is taken once its account's row is locked, and its id counts within the millisecond, so that a ledger in
// the order of time is in the order of its numbers too.
//
// Debit, run and ledger entry in one statement: all of it or nothing, without a transaction around it. Two calls with one
// key at once both see no run; then the unique index refuses the second one's statement whole, its debit too.
export const reserveStatement = {
  name: "reserve-credits",
  text: `
    WITH debit AS (
      UPDATE credit_accounts SET balance = balance - $4::bigint, seq = seq + 1
      WHERE user_id = $2 AND balance >= $4::bigint
        AND NOT EXISTS (SELECT 1 FROM runs WHERE user_id = $2 AND idempotency_key = $5)
      RETURNING balance, seq, date_trunc('milliseconds', clock_timestamp()) AS made_at),
    run AS (
      INSERT INTO runs (id, user_id, key_id, reserved, idempotency_key, fingerprint, created_at, expires_at)
      SELECT $1::uuid, $2::uuid, $3::uuid, $4::bigint, $5, $6::bytea, made_at, made_at + make_interval(secs => $7)
      FROM debit
      RETURNING created_at),
    entry AS (
      INSERT INTO credit_entries (id, user_id, seq, kind, amount, balance_after, run_id, created_at)
      SELECT credit_entry_id(made_at, seq), $2::uuid, seq, 'reserve', -$4::bigint, balance, $1::uuid, made_at FROM debit)
    SELECT created_at FROM run`,
}

const findHeld = {
  name: "find-held-key",
  text: `
    SELECT a.balance, r.id, r.state, r.fingerprint, r.response_body,
           CASE r.state WHEN 'reserved' THEN r.expires_at <= now()
                        ELSE r.ended_at <= now() - make_interval(hours => $3) END AS over,
           ceil(extract(epoch FROM r.expires_at - now()))::int AS seconds_left
    FROM (VALUES ($1::uuid)) AS asked (user_id)
    LEFT JOIN credit_accounts a USING (user_id)
    LEFT JOIN runs r ON r.user_id = asked.user_id AND r.idempotency_key = $2`,
}

type Held = {
  balance: string | null
  id: string | null
  state: "reserved" | "settled"
  fingerprint: Buffer
  response_body: string
  over: boolean
  seconds_left: number
}

/** Takes the most a call can cost from the balance, unless the idempotency key is held or the balance is too small. */
export async function reserve(request: ReserveRequest): Promise<ReserveResult> {
  // What holds the key can be gone by the time it is looked at: then the next attempt finds it free.
  for (let attempt = 0; attempt < 5; attempt++) {
    const reservation = await tryReserve(request)
    if (reservation) return { ok: true, ...reservation }
    const refused = await whyNot(request)
    if (refused) return refused
  }
  return { ok: false, reason: "busy" }
}

async function tryReserve(request: ReserveRequest): Promise<Reservation | undefined> {
  const { owner, keyId, idempotencyKey, fingerprint, amount } = request
  const runId = uuidv7()
  const values = [runId, owner, keyId, amount, idempotencyKey, fingerprint, reservationSeconds]
  try {
    const { rows } = await pool().query<{ created_at: Date }>({ ...reserveStatement, values })
    return rows[0] && { runId, createdAt: rows[0].created_at }
  } catch (error) {
    if (isHeldKey(error)) return undefined
    throw error
  }
}

/** Nothing when the obstacle has gone meanwhile: what is overdue is closed here, and a key that has had its day freed. */
async function whyNot(request: ReserveRequest): Promise<Exclude<ReserveResult, { ok: true }> | undefined> {
  const { owner, idempotencyKey, fingerprint, amount } = request
  const { rows } = await pool().query<Held>({ ...findHeld, values: [owner, idempotencyKey, idempotencyHours] })
  const [held] = rows
  if (!held?.id) {
    const balance = Number(held?.balance ?? 0)
    return balance < amount ? { ok: false, reason: "insufficient", balance } : undefined
  }
  if (held.over) {
    await (held.state === "reserved" ? release(held.id, "expired") : freeKeys([held.id]))
    return undefined
  }
  if (!held.fingerprint.equals(fingerprint)) return { ok: false, reason: "mismatch" }
  return held.state === "settled"
    ? { ok: false, reason: "settled", body: held.response_body }
    : { ok: false, reason: "in_progress", secondsLeft: Math.max(1, held.seconds_left) }
}

function isHeldKey(error: unknown): boolean {
  const { code, constraint } = error as { code?: unknown; constraint?: unknown }
  return code === "23505" && constraint === "runs_user_id_idempotency_key_key"
}

// Compare-and-set on the state: of all who would close a run, one does. A reservation that is over by the database's clock
// can be expired and not be settled. The balance is known only here, so the response is put together around it.
export const closeStatement = {
  name: "close-run",
  text: `
    WITH open AS (
      SELECT id, user_id, reserved FROM runs
      WHERE id = $1 AND state = 'reserved'
        AND CASE $2 WHEN 'settled' THEN expires_at > now() WHEN 'expired' THEN expires_at <= now() ELSE true END
      FOR UPDATE),
    account AS (
      UPDATE credit_accounts a
      SET balance = a.balance + o.reserved - $3::bigint, spent = a.spent + $3::bigint, seq = a.seq + (o.reserved > $3::bigint)::int
      FROM open o WHERE a.user_id = o.user_id
      RETURNING a.balance, a.seq, date_trunc('milliseconds', clock_timestamp()) AS made_at),
    run AS (
      UPDATE runs r
      SET state = $2::run_state, cost = $3::bigint, ended_at = now(),
          response_status = CASE WHEN $2 = 'settled' THEN 200 END,
          response_body = CASE WHEN $2 = 'settled' THEN $4::text || a.balance || $5::text END,
          idempotency_key = CASE WHEN $2 = 'settled' THEN r.idempotency_key END,
          released_key = CASE WHEN $2 = 'settled' THEN NULL ELSE r.idempotency_key END
      FROM open o, account a WHERE r.id = o.id
      RETURNING r.response_body),
    entry AS (
      INSERT INTO credit_entries (id, user_id, seq, kind, amount, balance_after, run_id, created_at)
      SELECT credit_entry_id(a.made_at, a.seq), o.user_id, a.seq, CASE WHEN $2 = 'settled' THEN 'settle' ELSE 'release' END::credit_entry_kind,
             o.reserved - $3::bigint, a.balance, o.id, a.made_at
      FROM open o, account a WHERE o.reserved > $3::bigint)
    SELECT response_body FROM run`,
}

export type SettleResult = { ok: true; body: string } | { ok: false; reason: "too_late" }

/**
 * Charges what the work cost, gives back the rest and stores the response.
 * @param cost credits, from 0 to what was reserved
 * @param response what stands before and after the new balance in the response's body
 */
export async function settle(runId: string, cost: number, response: readonly [string, string]): Promise<SettleResult> {
  const values = [runId, "settled", cost, ...response]
  for (let attempt = 1; ; attempt++) {
    try {
      const { rows } = await pool().query<{ response_body: string }>({ ...closeStatement, values })
      if (rows[0]) return { ok: true, body: rows[0].response_body }
      // Swept meanwhile, overdue, or settled by an attempt whose answer was lost.
      return await outcomeOf(runId)
    } catch (error) {
      if (attempt === 3 || !isDatabaseUnavailable(error)) throw error
      await new Promise((resolve) => setTimeout(resolve, attempt * 100 * (0.5 + Math.random())))
    }
  }
}

async function outcomeOf(runId: string): Promise<SettleResult> {
  const { rows } = await pool().query<{ state: string; response_body: string }>(
    "SELECT state, response_body FROM runs WHERE id = $1",
    [runId],
  )
  if (rows[0]?.state === "settled") return { ok: true, body: rows[0].response_body }
  await release(runId, "expired")
  return { ok: false, reason: "too_late" }
}

/**
 * Gives back all that a run reserved and frees its idempotency key; one that is closed already stays as it is.
 * @param as `expired` closes only what is overdue
 */
export async function release(runId: string, as: "failed" | "expired", database = pool()): Promise<boolean> {
  const { rowCount } = await database.query({ ...closeStatement, values: [runId, as, 0, null, null] })
  return rowCount === 1
}

const batch = 100

/**
 * Releases every overdue reservation, and frees the idempotency keys that have had their day. Any number of sweepers may
 * run at once: each run is closed by one of them, and each key freed by one.
 */
export async function sweep(database = pool()): Promise<{ released: number; freed: number }> {
  const swept = { released: 0, freed: 0 }
  for (let found = batch; found === batch; ) {
    const { rows } = await database.query<{ id: string }>(
      "SELECT id FROM runs WHERE state = 'reserved' AND expires_at <= now() ORDER BY expires_at LIMIT $1",
      [batch],
    )
    found = rows.length
    for (const { id } of rows) if (await release(id, "expired", database)) swept.released++
  }
  for (let found = batch; found === batch; ) {
    const { rows } = await database.query<{ id: string }>(
      `SELECT id FROM runs WHERE state = 'settled' AND idempotency_key IS NOT NULL
         AND ended_at <= now() - make_interval(hours => $2) LIMIT $1`,
      [batch, idempotencyHours],
    )
    found = rows.length
    swept.freed += await freeKeys(
      rows.map(({ id }) => id),
      database,
    )
  }
  return swept
}

async function freeKeys(runIds: readonly string[], database = pool()): Promise<number> {
  const { rowCount } = await database.query(
    `UPDATE runs SET idempotency_key = NULL
     WHERE id = ANY($1::uuid[]) AND state = 'settled' AND idempotency_key IS NOT NULL
       AND ended_at <= now() - make_interval(hours => $2)`,
    [runIds, idempotencyHours],
  )
  return rowCount ?? 0
}
