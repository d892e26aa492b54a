// Also loaded in browsers.

export const usageDays = 400

export const lifetimes = {
  "30d": { label: "30 days", days: 30 },
  "90d": { label: "90 days", days: 90 },
  "1y": { label: "1 year", days: 365 },
} as const

export type Lifetime = keyof typeof lifetimes

export const expiryChoices = ["30d", "90d", "1y", "never", "date"] as const satisfies readonly (
  | Lifetime
  | "never"
  | "date"
)[]

export type Expires = (typeof expiryChoices)[number]

export const preselectedExpiry: Expires = "90d"

export const badDate = "Choose a date from today to ten years from now."

/** A date is its last day in UTC; a lifetime counts from `now`. */
export function expiryOf(
  { expires, date }: { expires: Expires; date?: string | null },
  now: Date,
): Date | null | "bad_date" {
  if (expires === "never") return null
  if (expires !== "date") return new Date(now.getTime() + lifetimes[expires].days * 86_400_000)
  const end = new Date(`${date}T23:59:59.999Z`)
  const latest = new Date(now)
  latest.setUTCFullYear(latest.getUTCFullYear() + 10)
  latest.setUTCHours(23, 59, 59, 999)
  return end > now && end <= latest ? end : "bad_date"
}

export const spendPeriods = {
  day: "per day",
  week: "per week",
  month: "per month",
  never: "in total",
} as const

export type SpendPeriod = keyof typeof spendPeriods

export function settingsText(
  name: string,
  addresses: readonly string[] | null,
  requestsPerMinute: number | null,
  spending: { limit: number; period: SpendPeriod } | null,
): string {
  return JSON.stringify([name, addresses ?? [], requestsPerMinute, spending && [spending.limit, spending.period]])
}

export const graces = {
  none: { label: "Stop it now", hours: 0 },
  "1h": { label: "1 hour", hours: 1 },
  "24h": { label: "24 hours", hours: 24 },
  "7d": { label: "7 days", hours: 7 * 24 },
  leaked: { label: "It leaked: revoke it now", hours: 0 },
} as const

export type Grace = keyof typeof graces

export const preselectedGrace: Grace = "24h"

export const revocationReasons = {
  not_needed: "No longer needed",
  leaked: "It leaked",
  left_team: "Its user left the team",
  other: "Another reason",
} as const

export type RevocationReason = keyof typeof revocationReasons

export const replacedReason = "Replaced"

/** The browser inserts the new key, and the body of a call, in their places. */
export const keyPlaceholder = "{key}"
export const bodyPlaceholder = { "{body}": 0 }
