import { z } from "zod"
import type { Range } from "@/lib/platform/postgres/page"

export const statsInterval = z.enum(["day", "week", "month"])

export type StatsInterval = z.infer<typeof statsInterval>

const day = 86_400_000
/** Earlier times have no ISO 8601 date. */
const earliest = Date.parse("0001-01-01")
export const defaultStatsDays = 30
export const maxStatsPeriods = 4_000

/** `start` is the calendar start; `from` and `to` are clipped to the range, both inclusive. */
export type Period = { start: number; from: number; to: number }

export function statsRange({ since, until }: Range, now = Date.now()): { since: number; until: number } {
  const end = until?.getTime() ?? now
  const start = since?.getTime() ?? Math.floor(end / day) * day - (defaultStatsDays - 1) * day
  return { since: Math.max(start, earliest), until: end }
}

export function periodsOf(since: number, until: number, interval: StatsInterval): Period[] {
  const periods: Period[] = []
  for (let start = startOf(since, interval); start <= until; start = startAfter(start, interval)) {
    const to = Math.min(startAfter(start, interval) - 1, until)
    periods.push({ start, from: Math.max(start, since), to })
    if (periods.length > maxStatsPeriods) break
  }
  return periods
}

function startOf(ms: number, interval: StatsInterval): number {
  const date = new Date(Math.floor(ms / day) * day)
  if (interval === "month") date.setUTCDate(1)
  if (interval === "week") date.setUTCDate(date.getUTCDate() - ((date.getUTCDay() + 6) % 7))
  return date.getTime()
}

function startAfter(start: number, interval: StatsInterval): number {
  const date = new Date(start)
  if (interval === "month") date.setUTCMonth(date.getUTCMonth() + 1)
  else date.setUTCDate(date.getUTCDate() + (interval === "week" ? 7 : 1))
  return date.getTime()
}

/** A day that the month lacks becomes the last day of the month. */
export function rangeBefore(since: number, until: number, interval: StatsInterval): { since: number; until: number } {
  const periods = periodsOf(since, until, interval).length
  const before = (time: number) => Math.max(earliest, earlier(time, periods, interval))
  return { since: before(since), until: before(until) }
}

function earlier(time: number, periods: number, interval: StatsInterval): number {
  if (interval !== "month") return time - periods * (interval === "week" ? 7 : 1) * day
  const date = new Date(time)
  const dayOfMonth = date.getUTCDate()
  // First to a day that every month has.
  date.setUTCDate(1)
  date.setUTCMonth(date.getUTCMonth() - periods)
  const days = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()
  date.setUTCDate(Math.min(dayOfMonth, days))
  return date.getTime()
}
