import type { CreditEntryKind, RunState } from "@/generated/prisma/enums"
import type { Forecast } from "./days"

export function inCredits(amount: number): string {
  return `${amount.toLocaleString("en")} ${amount === 1 ? "credit" : "credits"}`
}

export function shortageOf(balance: number, neededForCall: number | null): string | undefined {
  if (neededForCall === null || balance >= neededForCall) return undefined
  return `too little for a call, which needs ${inCredits(neededForCall)}`
}

export function describeForecast({ daysLeft, ofDays }: Forecast): string {
  return `${inDays(daysLeft)} left at the pace of the last ${ofDays} days`
}

function inDays(days: number): string {
  if (days > 365) return "more than a year"
  if (days < 1) return "less than a day"
  return `about ${days} ${days === 1 ? "day" : "days"}`
}

const names: Record<CreditEntryKind, string> = {
  grant: "Grant",
  purchase: "Purchase",
  adjustment: "Adjustment",
  reserve: "Run",
  settle: "Run",
  release: "Run",
}

const states: Partial<Record<RunState, string>> = {
  reserved: " in progress",
  failed: " failed, nothing charged",
  expired: " timed out, nothing charged",
}

export function nameOfLine({ kind, runState }: { kind: CreditEntryKind; runState: RunState | null }): string {
  return `${names[kind]}${(runState && states[runState]) ?? ""}`
}
