/** The lifetimes that the new key form offers. */
export const lifetimes = {
  "30d": { label: "30 days", days: 30 },
  "90d": { label: "90 days", days: 90 },
  "1y": { label: "1 year", days: 365 },
} as const

export type Lifetime = keyof typeof lifetimes

/** The form's expiry choices in display order. */
export const expiryChoices = ["30d", "90d", "1y", "never", "date"] as const satisfies readonly (
  | Lifetime
  | "never"
  | "date"
)[]

export type Expires = (typeof expiryChoices)[number]

export const preselectedExpiry: Expires = "90d"

/** When a key issued at `now` expires. A date is its last day in UTC; a lifetime counts in milliseconds from `now`. */
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
