import { periodsOf } from "@/lib/metrics/periods"
import type { Period } from "./chart"
import { periodNames } from "./periods"

const day = 86_400_000

/** Whole days in UTC, including today. */
export function lastDays(days: number, now = Date.now()): { since: number; until: number } {
  const tomorrow = (Math.floor(now / day) + 1) * day
  return { since: tomorrow - days * day, until: tomorrow - 1 }
}

export function daysIn({ since, until }: { since: number; until: number }): Period[] {
  return periodsOf(since, until, "day").map(({ start }) => periodNames(new Date(start), "day"))
}
