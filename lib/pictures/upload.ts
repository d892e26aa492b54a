export const outcomes = ["saved", "too_many", "busy", "no_file", "too_large", "wrong_type", "unreadable"] as const

export type Outcome = (typeof outcomes)[number]

export function pageAfter(outcome: Outcome): string {
  return `/account/settings?picture=${outcome}`
}
