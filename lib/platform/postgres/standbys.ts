import { AsyncLocalStorage } from "node:async_hooks"
import { Pool } from "pg"
import { env } from "@/lib/env"
import { log } from "@/lib/platform/telemetry/log"
import { metrics } from "@/lib/platform/telemetry/metrics"
import { singleton } from "@/lib/singleton"
import type { WithinDeadline } from "./deadline"
import { isDatabaseUnavailable } from "./failures"
import { createPool, pool, survivingLosses } from "./pool"
import { refusalOf } from "./readiness"
import { withSettings } from "./settings"
import { waits } from "./waits"

// Reads beside the primary: lists of the admin API, metrics, statistics, their streams and the console. Work inside
// `fromStandby` reads one standby through `readPool`; everything else reads the primary. A position in the log of the
// primary (LSN) is a number of bytes here.

const sampleEveryMs = 1_000

/** In addition to `waits().standby`, a read waits for a newly silent standby at most for this time. */
const checkEveryMs = 250

const maxAgeMs = 5_000

/** Positions of the primary that are compared with a standby. */
const maxSamples = 10

/** Times are of `performance.now`, which no change of the clock affects. */
type Standby = {
  readonly name: string
  readonly url: string
  pool: Pool
  /** Of the checks, so that a pool in use delays none. */
  readonly watch: Pool
  /** The build can use it: checked each time it comes back. */
  isFit: boolean
  /** Undefined before its first check. */
  isUsed?: boolean
  replayed: number
  /** Every commit before this time is on it. */
  asOf: number
  /** Ends reads that wait for it. */
  readonly reading: Set<(reason: Error) => void>
  readonly dataAsOf: () => Date
}

type Sample = { at: number; flushed: number; timeline: number; database: string }

type Primary = {
  readonly watch: Pool
  readonly samples: Sample[]
  /** Why its position is not known now. */
  problem?: string
}

type State = {
  storage: AsyncLocalStorage<Standby>
  standbys: readonly Standby[]
  /** Of the next read. */
  turn: number
  checks: readonly NodeJS.Timeout[]
}

export function hasStandbys(): boolean {
  return env().DATABASE_REPLICA_URLS !== undefined
}

/** The standby that this work reads. */
export function standbyInUse(): Standby | undefined {
  return hasStandbys() ? watched().storage.getStore() : undefined
}

export function readPool(): Pool {
  return standbyInUse()?.pool ?? pool()
}

/**
 * Reads a standby; if it fails, another one, and in the end the primary. A standby that only takes too long is not
 * followed by another source, which would do the same work again.
 * @param work is given the time up to which its data is complete; without standbys, nothing
 * @param written a position of the primary: standbys that have not reached it are passed over
 */
export async function fromStandby<Outcome>(work: (dataAsOf?: Date) => Promise<Outcome>, written = 0): Promise<Outcome> {
  if (!hasStandbys()) return work()
  const { storage } = watched()
  for (const standby of candidates(written)) {
    try {
      const outcome = await storage.run(standby, () => untilLost(standby, () => work(standby.dataAsOf())))
      metrics().reads.inc({ source: standby.name })
      return outcome
    } catch (error) {
      if (!mayMove(error)) throw error
    }
  }
  metrics().reads.inc({ source: "primary" })
  return work(new Date())
}

/** @param tell is given the time up to which the data is complete */
export function onStandbys(
  withinDeadline: WithinDeadline,
  { written, tell }: { written?: number; tell?: (dataAsOf: Date) => void },
): WithinDeadline {
  if (!hasStandbys()) return withinDeadline
  // A stream whose rows a search finds reads twice.
  let earliest = Number.POSITIVE_INFINITY
  return (work) =>
    withinDeadline((signal) =>
      fromStandby((dataAsOf) => {
        // A response that nobody waits for moves no work to the primary.
        signal.throwIfAborted()
        if (dataAsOf) {
          earliest = Math.min(earliest, dataAsOf.getTime())
          tell?.(new Date(earliest))
        }
        return work(signal)
      }, written),
    )
}

/** Whether another source may do the work that failed with this error. */
export function mayMove(error: unknown): boolean {
  return isDatabaseUnavailable(error) && !isTimeout(error)
}

/** SQLSTATE 57014, and the errors of pg and pg-pool, which have no code. */
function isTimeout(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown }
  return code === "57014" || /timeout exceeded when trying to connect|Query read timeout/.test(String(message))
}

/** @throws when the standby is left out because it no longer responds */
export async function untilLost<Outcome>(
  { reading }: Pick<Standby, "reading">,
  work: () => Promise<Outcome>,
): Promise<Outcome> {
  let stop = (_reason: Error) => {}
  const lost = new Promise<never>((_, reject) => {
    stop = reject
  })
  reading.add(stop)
  try {
    return await Promise.race([work(), lost])
  } finally {
    reading.delete(stop)
  }
}

/** In turns, so that each has its share. */
function candidates(written: number): Standby[] {
  const state = watched()
  const usable = state.standbys.filter((standby) => isUsable(standby) && standby.replayed >= written)
  const first = usable.length > 0 ? state.turn++ % usable.length : 0
  return [...usable.slice(first), ...usable.slice(0, first)]
}

function isUsable({ isFit, asOf }: Standby): boolean {
  return isFit && performance.now() - asOf <= maxAgeMs
}

/** Starts the checks, once in a process. */
export function watchStandbys(): void {
  if (hasStandbys()) watched()
}

function watched(): State {
  return singleton("standbys", () => {
    const standbys = (env().DATABASE_REPLICA_URLS ?? []).map(standbyOf)
    const primary: Primary = { watch: watchPool(env().DATABASE_URL), samples: [] }
    const checks = [
      every(sampleEveryMs, () => samplePrimary(primary)),
      ...standbys.map((standby) => every(checkEveryMs, () => checkStandby(standby, primary))),
    ]
    for (const source of ["primary", ...standbys.map(({ name }) => name)]) metrics().reads.inc({ source }, 0)
    // Of a standby that was never up to date since the process started: the age of the process.
    metrics().standbyAges.read = () =>
      Object.fromEntries(standbys.map(({ name, asOf }) => [name, (performance.now() - Math.max(asOf, 0)) / 1_000]))
    return { storage: new AsyncLocalStorage(), standbys, turn: 0, checks }
  })
}

/** @param work never rejects */
function every(ms: number, work: () => Promise<void>): NodeJS.Timeout {
  let isRunning = false
  const round = async () => {
    if (isRunning) return
    isRunning = true
    await work()
    isRunning = false
  }
  void round()
  return setInterval(round, ms).unref()
}

function standbyOf(url: string): Standby {
  const standby: Standby = {
    name: new URL(url).host,
    url,
    pool: createPool(url),
    watch: watchPool(url),
    isFit: false,
    replayed: 0,
    asOf: Number.NEGATIVE_INFINITY,
    reading: new Set(),
    dataAsOf: () => new Date(Date.now() - (performance.now() - standby.asOf)),
  }
  return standby
}

function watchPool(url: string): Pool {
  const options = {
    connectionString: withSettings(url),
    application_name: "standby check",
    max: 1,
    connectionTimeoutMillis: waits().standby,
    query_timeout: waits().standby,
    allowExitOnIdle: true,
  }
  return survivingLosses(new Pool(options))
}

/**
 * A promotion begins a timeline of the log. A standby of another one may have commits that the primary lacks, at
 * positions that the primary also reaches. A standby that follows a promoted primary writes this number down at its next
 * restart point, or before it.
 */
const timeline = `greatest(
  (SELECT timeline_id FROM pg_control_checkpoint()),
  (SELECT min_recovery_end_timeline FROM pg_control_recovery())
) AS timeline`

/** A standby of another server, or with another database of this one, can have the same timeline and the same schema. */
const database = `(
  SELECT system_identifier || '/' || oid FROM pg_control_system(), pg_database WHERE datname = current_database()
) AS database`

/** While the primary is away, no standby becomes newer. */
async function samplePrimary(primary: Primary): Promise<void> {
  try {
    takeSample(primary.samples, await positionOf(primary))
    delete primary.problem
  } catch (error) {
    primary.problem = `the position of the primary is not known: ${error}`
  }
}

/**
 * A commit that was acknowledged before `at` is flushed. Positions are compared instead of times of the standby, which
 * cannot tell a quiet primary from a lost connection to it.
 */
async function positionOf({ watch }: Primary): Promise<Sample> {
  const at = performance.now()
  const { rows } = await watch.query<Omit<Sample, "at">>(
    `SELECT (pg_current_wal_flush_lsn() - '0/0')::float8 AS flushed, ${timeline}, ${database}`,
  )
  return { at, flushed: 0, timeline: 0, database: "", ...rows[0] }
}

function takeSample(samples: Sample[], sample: Sample): void {
  const newest = samples.at(-1)
  const isOther = sample.database !== newest?.database || sample.timeline !== newest.timeline
  if (newest && (isOther || sample.flushed < newest.flushed)) samples.length = 0
  samples.push(sample)
  samples.splice(0, samples.length - maxSamples)
}

async function checkStandby(standby: Standby, { samples, problem }: Primary): Promise<void> {
  if (samples.length === 0 && !problem) return
  let why = problem ?? "it is more than 5 seconds behind"
  try {
    standby.isFit ||= await checkFitness(standby)
    const { replayed, timeline, database } = await readPosition(standby)
    const newest = samples.at(-1)
    const isSame = database === newest?.database
    const isOnTimeline = isSame && timeline === newest.timeline
    if (newest && !isSame) why = "its URL leads to another database than that of the primary"
    else if (newest && !isOnTimeline) why = `it is on timeline ${timeline}, and the primary on ${newest.timeline}`
    // It was restored from a backup.
    if (!isOnTimeline || replayed < standby.replayed) standby.asOf = Number.NEGATIVE_INFINITY
    standby.replayed = replayed
    if (isOnTimeline) standby.asOf = samples.findLast(({ flushed }) => flushed <= replayed)?.at ?? standby.asOf
  } catch (error) {
    why = String(error)
    if (standby.isFit && !isConflict(error)) leave(standby)
  }
  const isUsed = isUsable(standby)
  if (isUsed !== standby.isUsed) {
    if (isUsed) log().warn({ standby: standby.name }, "standby_used")
    else log().warn({ standby: standby.name, why }, "standby_left_out")
  }
  standby.isUsed = isUsed
}

/** The check itself was in conflict with recovery, so the standby responds. */
function isConflict(error: unknown): boolean {
  return (error as { code?: unknown }).code === "40001"
}

function leave(standby: Standby): void {
  standby.isFit = false
  for (const stop of standby.reading) stop(new StandbyLost())
  // Idle connections may never respond again, even when the standby does.
  standby.pool.end().catch(() => {})
  standby.pool = createPool(standby.url)
}

/** @throws the reason not to use it */
async function checkFitness({ watch }: Standby): Promise<true> {
  const refusal = await refusalOf(watch)
  if (refusal) throw new Error(refusal)
  return true
}

/** A promoted standby no longer follows the primary. */
async function readPosition({ watch }: Standby): Promise<{ replayed: number; timeline: number; database: string }> {
  const { rows } = await watch.query<{ replayed: number | null; timeline: number; database: string }>(
    `SELECT CASE WHEN pg_is_in_recovery() THEN (pg_last_wal_replay_lsn() - '0/0')::float8 END AS replayed, ${timeline}, ${database}`,
  )
  const [position] = rows
  if (typeof position?.replayed !== "number") throw new Error("it is not a standby")
  return { ...position, replayed: position.replayed }
}

class StandbyLost extends Error {
  /** Of a lost connection, so that the response is the same 503. */
  readonly code = "ECONNRESET"

  constructor() {
    super("The standby does not respond.")
  }
}
