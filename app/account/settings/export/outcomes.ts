export const outcomes = {
  expired: "This download has expired, was used already, or belongs to another session. Export your data again.",
  busy: "Another download of your account is in progress. Wait until it has ended, then export your data again.",
} as const

export type Outcome = keyof typeof outcomes
