import { createHash } from "node:crypto"
import type { OwnerId } from "@/lib/authority/owner"
import { databaseDeadline, type WithinDeadline } from "@/lib/platform/postgres/deadline"
import type { Statement } from "@/lib/platform/postgres/page"
import { log } from "@/lib/platform/telemetry/log"
import { metrics } from "@/lib/platform/telemetry/metrics"
import { type Reservation, type ReserveRequest, type ReserveResult, release, reserve, settle } from "./ledger"

/** With the attempts to settle, it is well below the lifetime of a reservation. */
const workDeadlineMs = 20_000

/** Characters. */
const maxResponseLength = 1_000_000

/** `cost`: credits, from 0 to the reserved maximum. */
export type Worked<Result> = { result: Result; cost: number }

/** `statements` store the result in the transaction that charges it. */
export type Finished<Result> = Worked<Result> & { statements?: readonly Statement[] | undefined }

export type RunResult =
  /** `charged`: credits, 0 if the call was replayed. */
  | { ok: true; replayed: boolean; charged: number; body: string }
  | Exclude<ReserveResult, { ok: true } | { reason: "settled" }>
  /** Nothing is charged. */
  | { ok: false; reason: "timed_out" }
  /** The reservation had expired; nothing is charged. */
  | { ok: false; reason: "too_late" }

/**
 * Holds no connection during the work. An error releases the reservation and frees the idempotency key.
 * @param work its `signal` aborts at the time limit, after which the call no longer waits for it
 * @param write the response in two parts, between which the balance is inserted; it is replayed verbatim
 * @param withinDeadline limits the time until the credits are reserved; the statements take the account's turns
 * @throws TooManyWaiting if too many statements of the account wait
 * @throws the error of `work` or of its statements, after the release
 */
export async function run<Result>(
  request: ReserveRequest,
  work: (context: { runId: string; signal: AbortSignal }) => Promise<Finished<Result>>,
  write: (run: Reservation & Worked<Result>) => readonly [string, string],
  withinDeadline: WithinDeadline = databaseDeadline(),
): Promise<RunResult> {
  let outcome = "failed"
  try {
    const result = await attempt(request, work, write, withinDeadline)
    if (!result.ok) outcome = result.reason
    else outcome = result.replayed ? "replayed" : "settled"
    return result
  } finally {
    metrics().runs.inc({ outcome })
  }
}

async function attempt<Result>(
  request: ReserveRequest,
  work: (context: { runId: string; signal: AbortSignal }) => Promise<Finished<Result>>,
  write: (run: Reservation & Worked<Result>) => readonly [string, string],
  withinDeadline: WithinDeadline,
): Promise<RunResult> {
  const { owner, amount } = request
  const reserved = await reserveWithinDeadline(request, withinDeadline)
  if (!reserved.ok) {
    return reserved.reason === "settled" ? { ok: true, replayed: true, charged: 0, body: reserved.body } : reserved
  }
  const { runId, createdAt } = reserved
  metrics().credits.inc({ kind: "reserved" }, amount)
  const signal = AbortSignal.timeout(workDeadlineMs)
  const withinCloseDeadline = databaseDeadline()
  try {
    const { result, cost, statements = [] } = await beforeAbort(signal, work({ runId, signal }))
    const charged = chargeable(cost, request.keyHold ?? amount, runId)
    const response = write({ runId, createdAt, result: storable(result), cost: charged })
    const length = response[0].length + response[1].length
    if (length > maxResponseLength) throw new RangeError(`The work's result has ${length} characters as JSON.`)
    const settled = await withinCloseDeadline((deadline) =>
      settle(owner, runId, charged, response, { statements, deadline }),
    )
    if (!settled.ok) return settled
    metrics().credits.inc({ kind: "settled" }, charged)
    return { ok: true, replayed: false, charged, body: settled.body }
  } catch (error) {
    // A late settlement or release continues; the first one closes the run, and a retry returns its outcome. A settlement
    // that stores a result starts no further statement, because the account stays locked.
    await withinCloseDeadline(() => tryRelease(owner, runId)).catch(() => {})
    if (signal.aborted && error === signal.reason) return { ok: false, reason: "timed_out" }
    throw error
  }
}

/** A reservation that is made after the deadline is released, because its call has already failed. */
async function reserveWithinDeadline(request: ReserveRequest, withinDeadline: WithinDeadline): Promise<ReserveResult> {
  let reservation: Promise<ReserveResult> | undefined
  try {
    return await withinDeadline((signal) => {
      reservation = reserve(request, signal)
      return reservation
    })
  } catch (error) {
    reservation?.then(
      (reserved) => void (reserved.ok && tryRelease(request.owner, reserved.runId)),
      () => {},
    )
    throw error
  }
}

export function fingerprintOf(endpoint: string, body: unknown): Buffer {
  return createHash("sha256")
    .update(`${endpoint}\n${JSON.stringify(body)}`)
    .digest()
}

/** A listener left on the signal would keep the outcome until the time limit: 100 MB for a thousand of 100 KB. */
function beforeAbort<Outcome>(signal: AbortSignal, work: Promise<Outcome>): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    signal.addEventListener("abort", stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop))
  })
}

/** A cost outside 0 to the maximum is a bug in the work: it is logged, and at most the maximum is charged. */
function chargeable(cost: number, max: number, runId: string): number {
  if (Number.isInteger(cost) && cost >= 0 && cost <= max) return cost
  log().error({ runId, cost: String(cost), max }, "cost_out_of_range")
  return Number.isNaN(cost) ? 0 : Math.min(max, Math.max(0, Math.ceil(cost)))
}

/** PostgreSQL and some JSON parsers reject NUL and lone surrogates. */
function storable<Result>(result: Result): Result {
  return JSON.parse(JSON.stringify(result), (_name, value) =>
    typeof value === "string" ? value.replaceAll("\0", "").toWellFormed() : value,
  )
}

/** If the release fails, the reservation expires and the sweeper releases it. */
async function tryRelease(owner: OwnerId, runId: string): Promise<void> {
  try {
    await release(owner, runId, "failed")
  } catch (error) {
    log().warn({ runId, why: String(error) }, "release_left_to_sweeper")
  }
}
