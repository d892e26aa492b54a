import type { z } from "zod"
import { pool } from "@/lib/platform/postgres/pool"
import { countedSums, countedUsage } from "@/lib/platform/postgres/request-sums"
import type { usageUnit } from "./lists"
import { firstLoggedDay } from "./retention"

export type UsageUnit = z.output<typeof usageUnit>

export const shownPeriods: Record<UsageUnit, number> = { day: 30, hour: 48 }

export type UsagePeriod = Record<(typeof usageColumns)[number], number> & { startsAt: Date }

const usageColumns = [
  ...(["requests", "errors", "rows", "credits", "unlogged"] as const),
  ...(["under_10_ms", "under_50_ms", "under_250_ms", "under_1000_ms"] as const),
] as const

const usage = {
  name: "usage-of-key",
  text: `
    WITH current AS (SELECT date_trunc($2::text, now(), 'UTC') AS last, CASE $2 WHEN 'day' THEN interval '24 hours' ELSE '1 hour' END AS step)
    SELECT period AS "startsAt", ${usageColumns.map((column) => `coalesce(sum(${column}), 0)::float8 AS ${column}`).join(", ")}
    FROM current, generate_series(last - step * ($3::int - 1), last, step) period
    LEFT JOIN (
      SELECT * FROM ${countedUsage} counted, current
      WHERE key_id = $1 AND unit = $2::usage_unit AND created_at >= last - step * ($3::int - 1)) used ON created_at = period
    GROUP BY period ORDER BY period`,
}

/** Oldest first; includes periods without a request. */
export async function usageOf(keyId: string, unit: UsageUnit): Promise<UsagePeriod[]> {
  const { rows } = await pool().query<UsagePeriod>({ ...usage, values: [keyId, unit, shownPeriods[unit]] })
  return rows
}

export type Failure = {
  method: string
  route: string
  status: number
  code: string | null
  count: number
  lastId: string
  lastRequestId: string
  lastAt: Date
  lastAddress: string | null
}

/** Bounds the rows that are read of a key that fails all the time. */
export const latestFailures = 500

const failures = {
  name: "failures-of-key",
  text: `
    SELECT method, route, status, code, count(*)::int AS count, max(created_at) AS "lastAt",
           (array_agg(id ORDER BY created_at DESC, id DESC))[1] AS "lastId",
           (array_agg(coalesce(request_id, id::text) ORDER BY created_at DESC, id DESC))[1] AS "lastRequestId",
           (array_agg(host(address) ORDER BY created_at DESC))[1] AS "lastAddress"
    FROM (
      SELECT * FROM key_requests WHERE key_id = $1 AND status >= 400 AND created_at >= $2
      ORDER BY created_at DESC, id DESC LIMIT ${latestFailures}) latest
    GROUP BY method, route, status, code ORDER BY max(created_at) DESC LIMIT 10`,
}

export async function failuresOf(keyId: string): Promise<Failure[]> {
  const { rows } = await pool().query<Failure>({ ...failures, values: [keyId, firstLoggedDay()] })
  return rows
}

const seenBy = {
  key: `SELECT DISTINCT route, status FROM ${countedSums} counted WHERE key_id = $1 AND hour >= $2 ORDER BY route, status`,
  owner: `SELECT DISTINCT route, status FROM ${countedSums} counted WHERE user_id = $1 AND hour >= $2 ORDER BY route, status`,
} as const

export async function seenOf(of: keyof typeof seenBy, id: string): Promise<{ routes: string[]; statuses: number[] }> {
  const statement = { name: `seen-of-${of}`, text: seenBy[of] }
  const { rows } = await pool().query<{ route: string; status: number }>({
    ...statement,
    values: [id, firstLoggedDay()],
  })
  const routes = new Set(rows.map(({ route }) => route))
  const statuses = new Set(rows.map(({ status }) => status))
  return { routes: [...routes], statuses: [...statuses].sort((one, other) => one - other) }
}
