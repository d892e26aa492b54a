// What the forms and lists of keys offer and name; also loaded in browsers.

/** The periods of a spending limit. */
export const spendPeriods = {
  day: "per day",
  week: "per week",
  month: "per month",
  never: "in total",
} as const

export type SpendPeriod = keyof typeof spendPeriods

/** What the form for changes shows of a key, to tell whether it was changed since: `null` is no limit. */
export function settingsText(
  name: string,
  addresses: readonly string[] | null,
  requestsPerMinute: number | null,
  spending: { limit: number; period: SpendPeriod } | null,
): string {
  return JSON.stringify([name, addresses ?? [], requestsPerMinute, spending && [spending.limit, spending.period]])
}

/** How long a key that is replaced keeps working. */
export const graces = {
  none: { label: "Stop it now", hours: 0 },
  "1h": { label: "1 hour", hours: 1 },
  "24h": { label: "24 hours", hours: 24 },
  "7d": { label: "7 days", hours: 7 * 24 },
  leaked: { label: "It leaked: revoke it now", hours: 0 },
} as const

export type Grace = keyof typeof graces

export const preselectedGrace: Grace = "24h"

/** Why a key is revoked. */
export const revocationReasons = {
  not_needed: "No longer needed",
  leaked: "It leaked",
  left_team: "Its user left the team",
  other: "Another reason",
} as const

export type RevocationReason = keyof typeof revocationReasons

/** What `not_needed` is called for a key that another one has replaced. */
export const replacedReason = "Replaced"
