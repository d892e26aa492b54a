import { createHash } from "node:crypto"
import { databaseDeadline, type WithinDeadline } from "@/lib/postgres/deadline"
import { log } from "@/lib/telemetry/log"
import { metrics } from "@/lib/telemetry/metrics"
import { type Reservation, type ReserveRequest, type ReserveResult, release, reserve, settle } from "./ledger"

/** How long work may take. With the attempts to settle it stays well below the life of its reservation. */
const workDeadlineMs = 20_000

/** The longest response that is stored. */
const maxResponseLength = 1_000_000

/** What work comes back with; its cost in credits, from 0 to the reserved maximum. */
export type Worked<Result> = { result: Result; cost: number }

export type RunResult =
  | { ok: true; replayed: boolean; body: string }
  | Exclude<ReserveResult, { ok: true } | { reason: "settled" }>
  /** The work took longer than its deadline; nothing is charged. */
  | { ok: false; reason: "timed_out" }
  /** The work ended after its reservation did; nothing is charged. */
  | { ok: false; reason: "too_late" }

/**
 * One metered call: reserves the maximum, works without holding a connection, settles what it cost. What goes wrong in
 * between gives everything back and frees the idempotency key.
 * @param work is told to stop through `signal`, and not waited for any longer once it fires
 * @param write the response, with the place of the balance between its two parts; it is stored and replayed as it is
 * @param withinDeadline what is left of the time that the request has for the database until the credits are reserved
 * @throws what `work` throws, after the release
 */
export async function run<Result>(
  request: ReserveRequest,
  work: (context: { runId: string; signal: AbortSignal }) => Promise<Worked<Result>>,
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
  work: (context: { runId: string; signal: AbortSignal }) => Promise<Worked<Result>>,
  write: (run: Reservation & Worked<Result>) => readonly [string, string],
  withinDeadline: WithinDeadline,
): Promise<RunResult> {
  const reserved = await reserveInTime(request, withinDeadline)
  if (!reserved.ok) {
    return reserved.reason === "settled" ? { ok: true, replayed: true, body: reserved.body } : reserved
  }
  const { runId, createdAt } = reserved
  metrics().credits.inc({ kind: "reserved" }, request.amount)
  const signal = AbortSignal.timeout(workDeadlineMs)
  const inTimeToClose = databaseDeadline()
  try {
    const { result, cost } = await beforeAbort(signal, work({ runId, signal }))
    const charged = chargeable(cost, request.amount, runId)
    const response = write({ runId, createdAt, result: storable(result), cost: charged })
    const length = response[0].length + response[1].length
    if (length > maxResponseLength) throw new RangeError(`The work's result has ${length} characters as JSON.`)
    const settled = await inTimeToClose(settle(runId, charged, response))
    if (!settled.ok) return settled
    metrics().credits.inc({ kind: "settled" }, charged)
    return { ok: true, replayed: false, body: settled.body }
  } catch (error) {
    // What is late goes on: whoever comes first closes the run, and a retry learns which of them it was.
    await inTimeToClose(giveBack(runId)).catch(() => {})
    if (signal.aborted && error === signal.reason) return { ok: false, reason: "timed_out" }
    throw error
  }
}

/** A reservation that comes too late is given back, for nobody will work for it. */
async function reserveInTime(request: ReserveRequest, withinDeadline: WithinDeadline): Promise<ReserveResult> {
  const reserving = reserve(request)
  try {
    return await withinDeadline(reserving)
  } catch (error) {
    reserving.then(
      (reserved) => void (reserved.ok && giveBack(reserved.runId)),
      () => {},
    )
    throw error
  }
}

/** What an idempotency key stands for: SHA-256 over the endpoint and the validated body, whatever its spelling was. */
export function fingerprintOf(endpoint: string, body: unknown): Buffer {
  return createHash("sha256")
    .update(`${endpoint}\n${JSON.stringify(body)}`)
    .digest()
}

/**
 * The work's outcome, or the signal's reason when that comes first. A listener left on the signal would hold the outcome
 * until the deadline: 100 MB after a thousand results of 100 KB.
 */
function beforeAbort<Outcome>(signal: AbortSignal, work: Promise<Outcome>): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    signal.addEventListener("abort", stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop))
  })
}

/** A cost outside of 0 to the maximum is a bug of the work: it is reported, and never charged beyond the maximum. */
function chargeable(cost: number, max: number, runId: string): number {
  if (Number.isInteger(cost) && cost >= 0 && cost <= max) return cost
  log().error({ runId, cost: String(cost), max }, "cost_out_of_range")
  return Number.isNaN(cost) ? 0 : Math.min(max, Math.max(0, Math.ceil(cost)))
}

/** Text without what JSON, databases or readers stumble over: NUL and halves of characters. */
function storable<Result>(result: Result): Result {
  return JSON.parse(JSON.stringify(result), (_name, value) =>
    typeof value === "string" ? value.replaceAll("\0", "").toWellFormed() : value,
  )
}

/** Where even this fails, the reservation ends by itself and is swept. */
async function giveBack(runId: string): Promise<void> {
  try {
    await release(runId, "failed")
  } catch (error) {
    log().warn({ runId, why: String(error) }, "release_left_to_sweeper")
  }
}
