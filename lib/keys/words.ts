import type { Spending } from "@/lib/credits/spending"
import { inCredits } from "@/lib/credits/words"
import { relativeTime } from "@/lib/platform/text/format-time"
import { replacedReason, revocationReasons, type SpendPeriod } from "./choices"
import type { KeyLimits, ListedKey } from "./data"
import { isUnscoped } from "./health"
import type { Predecessor } from "./predecessor"

const longestList = 3

export function limitsInWords(limits: KeyLimits, offered: readonly string[]): string {
  const { scopes, addresses, requestsPerMinute, spending } = limits
  const parts = [
    scopes && !isUnscoped(scopes, offered) && scopesInWords(scopes),
    spending && spendingInWords(spending),
    requestsPerMinute !== null && counted(requestsPerMinute, "request per minute", "requests per minute"),
    addresses && networksInWords(addresses),
  ]
  return parts.filter(Boolean).join(" · ")
}

function scopesInWords(scopes: readonly string[]): string {
  return scopes.length > longestList ? `${scopes.length} permissions` : scopes.join(", ")
}

const periods: Record<SpendPeriod, string> = {
  day: "today",
  week: "this week",
  month: "this month",
  never: "in total",
}

export function spendingInWords({ limit, period, spent, held }: Spending): string {
  const used = spent.toLocaleString("en") + (held > 0 ? ` (+${held.toLocaleString("en")} held)` : "")
  return `${used} of ${inCredits(limit)} ${periods[period]}`
}

export function networksInWords({ length }: readonly string[]): string {
  return counted(length, "address", "addresses")
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}

export function predecessorInWords({ lastUsedAt, use }: Predecessor, now: Date): string {
  if (!lastUsedAt) return "the old key was never used"
  const used = `last used ${relativeTime(lastUsedAt, now)}`
  if (use === "successor_unused") return `${used}; the new key was not used since`
  return use === "no_longer" ? `${used}; no longer used` : used
}

export function revocationInWords({
  revocationReason: reason,
  isReplaced,
}: Pick<ListedKey, "revocationReason" | "isReplaced">): string {
  if (reason === "not_needed" && isReplaced) return replacedReason
  return reason ? revocationReasons[reason] : ""
}
