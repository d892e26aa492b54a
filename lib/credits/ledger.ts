import type { Pool, QueryConfig } from "pg"
import { v7 as uuidv7 } from "uuid"
import type { OwnerId } from "@/lib/authority/owner"
import type { Signal } from "@/lib/platform/postgres/deadline"
import { isDatabaseUnavailable, isUniqueViolation } from "@/lib/platform/postgres/failures"
import { pool } from "@/lib/platform/postgres/pool"
import { inTurn } from "@/lib/platform/queues/turns"
import { executeGrouped, UnknownCommit } from "./group"
import { findSpending, type Spending } from "./spending"
import { closeAndStore, type Stored } from "./store"

/** Longer than the time limit for work and than a server shutdown. */
export const reservationSeconds = 60

/** By the database clock. */
export const idempotencyHours = 24

export type Reservation = { runId: string; createdAt: Date }

export type ReserveResult =
  | ({ ok: true } & Reservation)
  /** Nothing was stored, so the idempotency key is still free. */
  | { ok: false; reason: "insufficient"; balance: number }
  /** More than is left of the key's spending limit; nothing was stored. */
  | { ok: false; reason: "key_limit"; spending: Spending; keyHold: number }
  | { ok: false; reason: "settled"; body: string }
  | { ok: false; reason: "in_progress"; secondsLeft: number }
  | { ok: false; reason: "mismatch" }
  /** The key ended or got a limit since it was read; nothing was stored. */
  | { ok: false; reason: "key_changed" }
  /** The balance was sufficient each time it was read, but concurrent calls took the credits first. */
  | { ok: false; reason: "busy" }

export type ReserveRequest = {
  owner: OwnerId
  keyId: string
  address?: string | undefined
  /** Unique per owner; with null, every call is a new run. */
  idempotencyKey: string | null
  /** SHA-256; the same idempotency key with a different fingerprint is refused. */
  fingerprint: Buffer
  /** Credits, at least 1. */
  amount: number
  /** Credits of the key's spending limit, from 0 to `amount`; absent if the key had no limit when it was read. */
  keyHold?: number | undefined
}

// Read in the statement that reserves, because a body may arrive ten seconds after its key was read. ANY, so that the key
// is found by its id, as its account's index would cost as much.
const keyWorks = (owner: string, keyId: string, address: string) => `
  FROM api_keys k JOIN users u ON u.id = k.user_id
  WHERE k.id = ${keyId} AND u.id = ANY (ARRAY[${owner}::uuid]) AND u.status = 'active'
    AND k.revoked_at IS NULL AND coalesce(k.expires_at > statement_timestamp(), true)
    AND (k.allowed_cidrs IS NULL OR ${address}::inet <<= ANY (k.allowed_cidrs::inet[]))`

// An entry's time is read after its account's row is locked, and its id contains the sequence number, so ordering a
// ledger by time also orders it by number.
//
// Debit, run and ledger entry are one statement, so all or none of them take effect. Of two concurrent calls with the
// same idempotency key, the unique index rejects the second statement including its debit.
export const reserveStatement = {
  name: "reserve-credits",
  text: `
    WITH api_key AS (SELECT ${keyWorks("$2", "$3", "$8")} AND k.spend_limit IS NULL),
    debit AS (
      UPDATE credit_accounts SET balance = balance - $4::bigint, seq = seq + 1
      WHERE user_id = $2 AND balance >= $4::bigint AND EXISTS (SELECT FROM api_key)
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

// The clock is read after the account's row is locked, so that no call is counted in a period that ended while it
// waited. A limit that was removed since the key was read is unlimited. The upsert decides on the newest values of the
// period's row; when it refuses, it returns no row, and nothing is debited.
export const limitedReserveStatement = {
  name: "reserve-credits-within-limit",
  text: `
    WITH account AS (
      SELECT user_id FROM credit_accounts
      WHERE user_id = $2 AND balance >= $4::bigint
        AND NOT EXISTS (SELECT 1 FROM runs WHERE user_id = $2 AND idempotency_key = $5)
      FOR NO KEY UPDATE),
    api_key AS MATERIALIZED (
      SELECT coalesce(k.root_id, k.id) AS root_id, coalesce(k.spend_period, 'never') AS period,
             coalesce(k.spend_limit, 9223372036854775807) AS spend_limit,
             date_trunc('milliseconds', clock_timestamp()) AS made_at
      ${keyWorks("$2", "$3", "$8")} AND EXISTS (SELECT FROM account)),
    spending AS (
      INSERT INTO key_spending AS s (root_id, period, starts_at, held)
      SELECT root_id, period, spend_period_start(period, made_at), $9::bigint FROM api_key WHERE $9::bigint <= spend_limit
      ON CONFLICT (root_id, period, starts_at) DO UPDATE SET held = s.held + excluded.held
        WHERE s.spent + s.held + excluded.held <= (SELECT spend_limit FROM api_key)
      RETURNING id),
    debit AS (
      UPDATE credit_accounts SET balance = balance - $4::bigint, seq = seq + 1
      FROM api_key, spending WHERE user_id = $2
      RETURNING balance, seq, made_at, spending.id AS spending_id),
    run AS (
      INSERT INTO runs (id, user_id, key_id, reserved, idempotency_key, fingerprint, created_at, expires_at, spending_id, key_hold)
      SELECT $1::uuid, $2::uuid, $3::uuid, $4::bigint, $5, $6::bytea, made_at, made_at + make_interval(secs => $7), spending_id, $9::bigint
      FROM debit
      RETURNING created_at),
    entry AS (
      INSERT INTO credit_entries (id, user_id, seq, kind, amount, balance_after, run_id, created_at)
      SELECT credit_entry_id(made_at, seq), $2::uuid, seq, 'reserve', -$4::bigint, balance, $1::uuid, made_at FROM debit)
    SELECT created_at FROM run`,
}

const findKeyHolder = {
  name: "find-held-key",
  text: `
    SELECT a.balance, r.id, r.state, r.fingerprint, r.response_body,
           CASE r.state WHEN 'reserved' THEN r.expires_at <= now()
                        ELSE r.ended_at <= now() - make_interval(hours => $3) END AS expired,
           ceil(extract(epoch FROM r.expires_at - now()))::int AS seconds_left,
           EXISTS (SELECT ${keyWorks("$1", "$4", "$5")} AND (k.spend_limit IS NULL OR $6)) AS key_works
    FROM (VALUES ($1::uuid)) AS request (user_id)
    LEFT JOIN credit_accounts a USING (user_id)
    LEFT JOIN runs r ON r.user_id = request.user_id AND r.idempotency_key = $2`,
}

type KeyHolder = {
  balance: string | null
  id: string | null
  state: "reserved" | "settled"
  fingerprint: Buffer
  response_body: string
  expired: boolean
  seconds_left: number
  key_works: boolean
}

/** @param signal aborts the wait for other calls of the account */
export async function reserve(request: ReserveRequest, signal?: Signal): Promise<ReserveResult> {
  let violation: unknown
  // Between the two statements, a concurrent call may free the key or add credits, so the attempt is repeated.
  for (let attempt = 0; attempt < 5; attempt++) {
    const reservation = await tryReserve(request, signal)
    if (reservation.ok) return reservation
    const refusal = await findRefusal(request, signal)
    if (refusal) return refusal
    violation = reservation.violation
  }
  // Nobody holds the idempotency key, so it was another value that was not unique.
  if (violation) throw violation
  return { ok: false, reason: "busy" }
}

/** `violation` is the idempotency key's if the key has a holder, and otherwise another value's. */
type Attempt = ({ ok: true } & Reservation) | { ok: false; violation?: unknown }

async function tryReserve(request: ReserveRequest, signal?: Signal): Promise<Attempt> {
  const { owner, keyId, address, idempotencyKey, fingerprint, amount, keyHold } = request
  const runId = uuidv7()
  const values = [runId, owner, keyId, amount, idempotencyKey, fingerprint, reservationSeconds, address]
  const statement =
    keyHold === undefined
      ? { ...reserveStatement, values }
      : { ...limitedReserveStatement, values: [...values, keyHold] }
  try {
    const { rows } = await executeGrouped<Reserved>(owner, statement, { signal })
    return rows[0] ? { ok: true, runId, createdAt: rows[0].created_at } : { ok: false }
  } catch (error) {
    if (error instanceof UnknownCommit) return reserveAgain(owner, runId, statement, error, signal)
    // Not recognized by the name of the index, which differs on each partition: findRefusal asks for the holder.
    if (idempotencyKey !== null && isUniqueViolation(error)) return { ok: false, violation: error }
    throw error
  }
}

type Reserved = { created_at: Date }

/** The run is found if the statement has taken effect before or does so now, and its id is unique, so it is made once. */
async function reserveAgain(
  owner: OwnerId,
  runId: string,
  statement: QueryConfig,
  error: Error,
  signal?: Signal,
): Promise<Attempt> {
  const query = (config: QueryConfig) => inTurn(owner, "close", () => pool().query<Reserved>(config))
  let violation: unknown
  if (!signal?.aborted) {
    await query(statement).catch((again) => {
      if (!isUniqueViolation(again)) throw again
      violation = again
    })
  }
  const text = "SELECT created_at FROM runs WHERE id = $1 AND user_id = $2"
  const { rows } = await query({ text, values: [runId, owner] })
  if (rows[0]) return { ok: true, runId, createdAt: rows[0].created_at }
  if (signal?.aborted) throw error
  return { ok: false, violation }
}

/** Returns undefined if the call can be tried again, after closing an overdue run or freeing an expired key. */
async function findRefusal(
  request: ReserveRequest,
  signal?: Signal,
): Promise<Exclude<ReserveResult, { ok: true }> | undefined> {
  const { owner, keyId, address, idempotencyKey, fingerprint, amount, keyHold } = request
  const values = [owner, idempotencyKey, idempotencyHours, keyId, address, keyHold !== undefined]
  const find = () => pool().query<KeyHolder>({ ...findKeyHolder, values })
  // Not refused for its wait: the call has waited already, and its deadline ends it.
  const { rows } = await inTurn(owner, "close", find, signal)
  const [holder] = rows
  if (!holder?.key_works) return { ok: false, reason: "key_changed" }
  if (!holder.id) {
    const balance = Number(holder.balance ?? 0)
    return balance < amount ? { ok: false, reason: "insufficient", balance } : findLimitReached(request)
  }
  if (holder.expired) {
    const { id, state } = holder
    await (state === "reserved" ? release(owner, id, "expired") : freeKeys([{ id, user_id: owner }]))
    return undefined
  }
  if (!holder.fingerprint.equals(fingerprint)) return { ok: false, reason: "mismatch" }
  return holder.state === "settled"
    ? { ok: false, reason: "settled", body: holder.response_body }
    : { ok: false, reason: "in_progress", secondsLeft: Math.max(1, holder.seconds_left) }
}

async function findLimitReached({ keyId, keyHold }: ReserveRequest) {
  if (keyHold === undefined) return undefined
  const spending = (await findSpending([keyId])).get(keyId)
  if (!spending || spending.spent + spending.held + keyHold <= spending.limit) return undefined
  return { ok: false, reason: "key_limit", spending, keyHold } as const
}

// Compare-and-set on the state, so a run is closed exactly once. A reservation past its end, by the database clock, can
// no longer settle. The response is completed here because it contains the new balance.
//
// The state is compared inside CASE, so that the run is found by its id: the index of an account's open runs would be
// chosen for `state = 'reserved'`, and holds an entry of each run that the account has closed since the last vacuum.
export const closeStatement = {
  name: "close-run",
  text: `
    WITH open AS (
      SELECT id, user_id, reserved FROM runs
      WHERE id = $1 AND user_id = $2
        AND CASE WHEN state <> 'reserved' THEN false
                 WHEN $3 = 'settled' THEN expires_at > statement_timestamp()
                 WHEN $3 = 'expired' THEN expires_at <= statement_timestamp() ELSE true END
      FOR UPDATE),
    account AS (
      UPDATE credit_accounts a
      SET balance = a.balance + o.reserved - $4::bigint, spent = a.spent + $4::bigint, seq = a.seq + (o.reserved > $4::bigint)::int
      FROM open o WHERE a.user_id = o.user_id AND a.user_id = $2
      RETURNING a.balance, a.seq, date_trunc('milliseconds', clock_timestamp()) AS made_at),
    run AS (
      UPDATE runs r
      SET state = $3::run_state, cost = $4::bigint, ended_at = statement_timestamp(),
          response_status = CASE WHEN $3 = 'settled' THEN 200 END,
          response_body = CASE WHEN $3 = 'settled' THEN $5::text || a.balance || $6::text END,
          idempotency_key = CASE WHEN $3 = 'settled' THEN r.idempotency_key END,
          released_key = CASE WHEN $3 = 'settled' THEN NULL ELSE r.idempotency_key END
      FROM open o, account a WHERE r.id = o.id AND r.user_id = o.user_id
      RETURNING r.response_body),
    entry AS (
      INSERT INTO credit_entries (id, user_id, seq, kind, amount, balance_after, run_id, created_at)
      SELECT credit_entry_id(a.made_at, a.seq), o.user_id, a.seq, CASE WHEN $3 = 'settled' THEN 'settle' ELSE 'release' END::credit_entry_kind,
             o.reserved - $4::bigint, a.balance, o.id, a.made_at
      FROM open o, account a WHERE o.reserved > $4::bigint)
    SELECT response_body FROM run`,
}

type Settled = { response_body: string }

type SettleResult = { ok: true; body: string } | { ok: false; reason: "too_late" }

/**
 * @param cost credits, from 0 to the reserved amount
 * @param response the body before and after the new balance
 * @param stored takes effect if this closes the run, in the same transaction
 */
export async function settle(
  owner: OwnerId,
  runId: string,
  cost: number,
  response: readonly [string, string],
  stored?: Stored,
): Promise<SettleResult> {
  const statement = { ...closeStatement, values: [runId, owner, "settled", cost, ...response] }
  for (let attempt = 1; ; attempt++) {
    try {
      const { rows } = await (stored?.statements.length
        ? inTurn(owner, "close", () => closeAndStore<Settled>(statement, stored))
        : executeGrouped<Settled>(owner, statement, { runId }))
      if (rows[0]) return { ok: true, body: rows[0].response_body }
      // The run was swept, is overdue, or was settled by an earlier attempt whose result was lost.
      return await outcomeOf(owner, runId)
    } catch (error) {
      if (attempt === 3 || !isDatabaseUnavailable(error)) throw error
      await new Promise((resolve) => setTimeout(resolve, attempt * 100 * (0.5 + Math.random())))
    }
  }
}

async function outcomeOf(owner: OwnerId, runId: string): Promise<SettleResult> {
  const text = "SELECT state, response_body FROM runs WHERE id = $1 AND user_id = $2"
  const find = () => pool().query<{ state: string } & Settled>(text, [runId, owner])
  const { rows } = await inTurn(owner, "close", find)
  if (rows[0]?.state === "settled") return { ok: true, body: rows[0].response_body }
  await release(owner, runId, "expired")
  return { ok: false, reason: "too_late" }
}

/** Does nothing if the run is closed, or another account's. @param as `expired` closes only an overdue run */
export async function release(
  owner: OwnerId,
  runId: string,
  as: "failed" | "expired",
  database?: Pool,
): Promise<boolean> {
  const statement = { ...closeStatement, values: [runId, owner, as, 0, null, null] }
  const { rowCount } = await (database ? database.query(statement) : executeGrouped(owner, statement, { runId }))
  return rowCount === 1
}

const batchSize = 100

/** Every statement that changes a run names its account, too. */
type SweptRun = { id: string; user_id: OwnerId }

/** Sweepers can run concurrently: each run is closed once and each key freed once. */
export async function sweep(database = pool()): Promise<{ released: number; freed: number }> {
  const swept = { released: 0, freed: 0 }
  for (let found = batchSize; found === batchSize; ) {
    const { rows } = await database.query<SweptRun>(
      "SELECT id, user_id FROM runs WHERE state = 'reserved' AND expires_at <= now() ORDER BY expires_at LIMIT $1",
      [batchSize],
    )
    found = rows.length
    for (const { id, user_id } of rows) if (await release(user_id, id, "expired", database)) swept.released++
  }
  for (let found = batchSize; found === batchSize; ) {
    const { rows } = await database.query<SweptRun>(
      `SELECT id, user_id FROM runs WHERE state = 'settled' AND idempotency_key IS NOT NULL
         AND ended_at <= now() - make_interval(hours => $2) LIMIT $1`,
      [batchSize, idempotencyHours],
    )
    found = rows.length
    swept.freed += await freeKeys(rows, database)
  }
  return swept
}

async function freeKeys(runs: readonly SweptRun[], database = pool()): Promise<number> {
  const { rowCount } = await database.query(
    `UPDATE runs SET idempotency_key = NULL
     WHERE id = ANY($1::uuid[]) AND user_id = ANY($2::uuid[]) AND state = 'settled' AND idempotency_key IS NOT NULL
       AND ended_at <= now() - make_interval(hours => $3)`,
    [runs.map(({ id }) => id), [...new Set(runs.map(({ user_id }) => user_id))], idempotencyHours],
  )
  return rowCount ?? 0
}
