import { db, snapshot } from "@/lib/platform/postgres/prisma"
import { foldBeforeReading } from "@/lib/platform/postgres/request-sums"

type Requests = {
  requests: number
  /** Responses with a status of 400 or more. */
  errors: number
  rows: number
}

type Reached = Requests & { firstAt: Date; lastAt: Date }

export type ReachedRoute = Reached & { route: string; addresses: number }

/** An IPv4 address, an IPv6 /64, `unknown`, or `others` beyond the entries that a key can have. */
export type ReachedAddress = Reached & { address: string; routes: number }

export type ReachEntry = Reached & { route: string; address: string }

export type KeyActivity = {
  /** By the database clock. */
  readAt: Date
  /** Of any key; `null` if no request was logged. */
  logStartedAt: Date | null
  /** Of the last 400 days; they are in no other number. */
  unlogged: number
  total: Requests & { firstAt: Date | null; lastAt: Date | null; entries: number }
  /** Most rows first. */
  routes: ReachedRoute[]
  /** Newest first: a new address may be somebody else's. At most `maxEntries`, as of the entries. */
  addresses: ReachedAddress[]
  entries: ReachEntry[]
}

/** Anybody with a revoked key can make entries by using it from many addresses. */
const maxEntries = 10_000

type Row = Reached & { level: number; route: string; address: string; parts: number }

export async function findKeyActivity(keyId: string): Promise<KeyActivity> {
  await foldBeforeReading()
  const [[log], found] = await snapshot(
    db().$queryRaw<[Pick<KeyActivity, "readAt" | "logStartedAt" | "unlogged">]>`
      SELECT now() AS "readAt", (SELECT min(first_at) FROM key_reach) AS "logStartedAt",
             (SELECT coalesce(sum(unlogged), 0)::float8 FROM key_usage WHERE key_id = ${keyId}::uuid AND unit = 'day') AS unlogged`,
    db().$queryRaw<Row[]>`
      WITH grouped AS (
        SELECT grouping(route, address) AS level, route, address, count(*)::int AS parts,
               coalesce(sum(requests), 0)::float8 AS requests, coalesce(sum(refused), 0)::float8 AS errors,
               coalesce(sum(rows), 0)::float8 AS rows, min(first_at) AS "firstAt", max(last_at) AS "lastAt"
        FROM key_reach WHERE key_id = ${keyId}::uuid
        GROUP BY GROUPING SETS ((route, address), (route), (address), ())),
      placed AS (
        SELECT *, row_number() OVER (
          PARTITION BY level
          ORDER BY CASE WHEN route IS NULL THEN "firstAt" END DESC, rows DESC, requests DESC, route, address) AS place
        FROM grouped)
      SELECT * FROM placed WHERE place <= ${maxEntries} ORDER BY level, place`,
  )
  const at = (level: number) => found.filter((row) => row.level === level)
  // GROUPING sets a bit for each column that is summed over.
  const [total] = at(0b11)
  if (!total) throw new Error("The sum over no rows is a row.")
  return {
    ...log,
    total: { ...numbersOf(total), entries: total.parts },
    routes: at(0b01).map((row) => ({ route: row.route, addresses: row.parts, ...numbersOf(row) })),
    addresses: at(0b10).map((row) => ({ address: row.address, routes: row.parts, ...numbersOf(row) })),
    entries: at(0b00).map((row) => ({ route: row.route, address: row.address, ...numbersOf(row) })),
  }
}

function numbersOf({ requests, errors, rows, firstAt, lastAt }: Row): Reached {
  return { requests, errors, rows, firstAt, lastAt }
}

export async function countRequests(keyId: string): Promise<number> {
  const [{ requests }] = await db().$queryRaw<[{ requests: number }]>`
    SELECT coalesce(sum(requests), 0)::float8 AS requests FROM (
      SELECT requests FROM key_reach WHERE key_id = ${keyId}::uuid
      UNION ALL SELECT requests FROM key_request_changes WHERE key_id = ${keyId}::uuid) counted`
  return requests
}
