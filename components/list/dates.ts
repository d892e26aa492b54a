const day = 86_400_000

/** Days in UTC; without an end the range includes today. */
type DatePreset = { label: string; since: string; until?: string }

export function datePresets(now: Date): DatePreset[] {
  const dayOfMonth = (monthsAgo: number, date: number) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - monthsAgo, date)).toISOString().slice(0, 10)
  return [
    { label: "Today", since: daysAgo(0, now) },
    { label: "7 days", since: daysAgo(6, now) },
    { label: "30 days", since: daysAgo(29, now) },
    { label: "This month", since: dayOfMonth(0, 1) },
    { label: "Last month", since: dayOfMonth(1, 1), until: dayOfMonth(0, 0) },
    { label: "12 months", since: dayOfMonth(11, 1) },
  ]
}

export function daysAgo(days: number, now: Date): string {
  return new Date(now.getTime() - days * day).toISOString().slice(0, 10)
}
