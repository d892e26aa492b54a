import { Pool } from "pg"
import { env } from "@/lib/env"
import { isDatabaseUnavailable } from "@/lib/platform/postgres/failures"
import { survivingLosses } from "@/lib/platform/postgres/pool"
import { withSettings } from "@/lib/platform/postgres/settings"
import { clientOf } from "@/lib/platform/rate-limit/client-address"
import { slidingWindowInProcess } from "@/lib/platform/rate-limit/in-process"
import { log } from "@/lib/platform/telemetry/log"
import { metrics } from "@/lib/platform/telemetry/metrics"
import { foreignSecret } from "@/lib/platform/text/foreign-secret"
import { singleton } from "@/lib/singleton"
import { anyPrefix } from "@/lib/surfaces"

// The log of requests with keys. Entries wait in memory and are written in batches over a connection of their own, so a
// slow, full or unreachable database never delays or fails a response. Lost entries are counted per key and hour.

export type Entry = {
  /** A UUIDv7 of `createdAt`, so that the primary key finds it. */
  id: string
  keyId: string
  userId: string
  createdAt: Date
  method: string
  /** The path of an endpoint, never the URL. */
  route: string
  status: number
  code: string | undefined
  /** Without text of the client, except names: see lib/api/said.ts. */
  message?: string | undefined
  ms: number
  rows: number
  credits: number
  /** The whole address, not just its network. */
  address: string | undefined
  userAgent: string | null
  /** Names, not values, of the parameters that the endpoint declares. */
  parameters: readonly string[]
  /** If the client chose it; otherwise it is the id. */
  requestId?: string | undefined
  runId?: string | undefined
}

/** Bounds the memory: an entry takes about half a kilobyte, and with a message one. */
const maxWaiting = 10_000

const batch = 5_000
const writeEveryMs = 500

/** Per minute and process, of a key, an account and an address. Otherwise revoked keys could fill the disk. */
export const failuresPerMinute = 300

const drainMs = 3_000

/** Shown in `pg_stat_activity`. */
export const logApplication = "request log"

type State = {
  waiting: Entry[]
  unlogged: Map<string, number>
  isFailureLogged: (request: Entry) => boolean
  writing?: Promise<void> | undefined
  timer?: NodeJS.Timeout | undefined
  isDraining: boolean
}

function state(): State {
  return singleton("request-log", () => {
    const count = slidingWindowInProcess(60_000)
    return {
      waiting: [],
      unlogged: new Map(),
      isFailureLogged: ({ keyId, userId, address }) =>
        [keyId, userId, ...(address ? [clientOf(address)] : [])].every((id) => count(id, failuresPerMinute).success),
      isDraining: false,
    }
  })
}

/**
 * Logs within a second. Never throws.
 * @param isKept `false` only counts the request: see lib/request-log/retention.ts
 * @returns during a shutdown, a promise that the response waits for
 */
export function logRequest(request: Entry, isKept = true): Promise<void> | undefined {
  if (env().REQUEST_LOG_DAYS === 0) return undefined
  const { waiting, isFailureLogged, isDraining } = state()
  const isLogged = isKept && waiting.length < maxWaiting && (request.status < 400 || isFailureLogged(request))
  if (isLogged) waiting.push(entryOf(request))
  else countUnlogged(request)
  if (isDraining) return drain()
  scheduleWrite()
  return undefined
}

/** Call it before the process exits: later requests are written at once. */
export function drainRequestLog(): Promise<void> {
  state().isDraining = true
  return drain()
}

async function drain(): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, drainMs)
  })
  // Entries that arrive during a write are written after it.
  await Promise.race([timeout, write().then(write)])
  clearTimeout(timer)
}

function countUnlogged({ keyId, userId, createdAt }: Entry): void {
  const { unlogged } = state()
  const hour = `${createdAt.toISOString().slice(0, 13)}:00Z`
  const place = [keyId, userId, hour].join(" ")
  metrics().unlogged.inc()
  if (unlogged.has(place) || unlogged.size < maxWaiting) unlogged.set(place, (unlogged.get(place) ?? 0) + 1)
}

function scheduleWrite(): void {
  const current = state()
  current.timer ??= setTimeout(async () => {
    await write()
    current.timer = undefined
    if (current.waiting.length > 0 || current.unlogged.size > 0) scheduleWrite()
  }, writeEveryMs).unref()
}

/** If the database fails, the entries continue to wait. */
function write(): Promise<void> {
  const current = state()
  current.writing ??= writeAll(current)
    .catch((error) => log().warn({ waiting: current.waiting.length, why: String(error) }, "request_log_not_written"))
    .finally(() => {
      current.writing = undefined
    })
  return current.writing
}

async function writeAll({ waiting, unlogged }: State): Promise<void> {
  while (waiting.length > 0) {
    const entries = waiting.slice(0, batch)
    try {
      await writeEntries(connection(), entries)
    } catch (error) {
      if (isDatabaseUnavailable(error)) throw error
      // The same entries would fail again.
      for (const entry of entries) countUnlogged(entry)
      log().error({ entries: entries.length, why: String(error) }, "request_log_refused")
    }
    waiting.splice(0, entries.length)
  }
  for (const [place, n] of [...unlogged]) {
    await addUnlogged(place, n)
    const left = (unlogged.get(place) ?? 0) - n
    if (left > 0) unlogged.set(place, left)
    else unlogged.delete(place)
  }
}

/** Idempotent: repeated calls write the same entries once. A trigger counts them in the same commit. */
export async function writeEntries(database: Pool, entries: readonly Entry[]): Promise<void> {
  const days = new Set(entries.map(({ createdAt }) => createdAt.toISOString().slice(0, 10)))
  await database.query("SELECT add_request_log_day(day) FROM unnest($1::date[]) day", [[...days].sort()])
  // An id that exists was written by an attempt whose response was lost.
  await database.query(
    `INSERT INTO key_requests (id, key_id, user_id, created_at, method, route, status, code, ms, rows, credits, address,
       user_agent, parameters, request_id, run_id, message)
     SELECT * FROM json_to_recordset($1) AS entry (id uuid, "keyId" uuid, "userId" uuid, "createdAt" timestamptz(3),
       method text, route text, status int, code text, ms int, rows int, credits int, address inet, "userAgent" text,
       parameters text[], "requestId" text, "runId" uuid, message text)
     ON CONFLICT DO NOTHING`,
    [JSON.stringify(entries)],
  )
}

async function addUnlogged(place: string, n: number): Promise<void> {
  await connection().query(
    `INSERT INTO key_usage AS u (unit, key_id, user_id, created_at, unlogged)
     SELECT unit, $1, $2, date_trunc(unit::text, $3::timestamptz, 'UTC'), $4
     FROM unnest(enum_range(NULL::usage_unit)) unit ORDER BY unit
     ON CONFLICT (key_id, unit, created_at) DO UPDATE SET unlogged = u.unlogged + excluded.unlogged`,
    [...place.split(" "), n],
  )
}

const keys = [new RegExp(`${anyPrefix}\\w*`, "gi"), new RegExp(`\\b${foreignSecret}[\\w.-]*`, "g")]
const maxUserAgent = 200
const maxMessage = 500

/** The texts are copies: a slice of a header or a body would keep all of it in memory. */
function entryOf({ address, userAgent, requestId, message, ...request }: Entry): Entry {
  const copied = {
    address: address && copyOf(address),
    userAgent: masked(userAgent),
    requestId: requestId && copyOf(requestId),
    message: message && copyOf(message.slice(0, maxMessage).replaceAll("\0", "")),
  }
  return { ...request, ...copied, ms: Math.round(request.ms) }
}

/** Masks API keys, of other services, too. HTTP allows neither line breaks nor NUL. */
function masked(userAgent: string | null): string | null {
  const shown = keys.reduce((text, key) => text.replaceAll(key, "[key]"), userAgent ?? "")
  return shown ? copyOf(shown.slice(0, maxUserAgent)) : null
}

function copyOf(text: string): string {
  return Buffer.from(text).toString()
}

/** Requests never wait for this connection, and it never waits for them. */
function connection(): Pool {
  return singleton("request-log-connection", () => {
    const options = {
      connectionString: withSettings(env().DATABASE_URL),
      application_name: logApplication,
      max: 1,
      connectionTimeoutMillis: 5_000,
      statement_timeout: 10_000,
      query_timeout: 11_000,
      allowExitOnIdle: true,
    }
    return survivingLosses(new Pool(options))
  })
}
