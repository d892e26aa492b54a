/** What an upload can come to, as the page of the settings is told in its query. */
export const outcomes = ["saved", "too_many", "busy", "no_file", "too_large", "wrong_type", "unreadable"] as const

export type Outcome = (typeof outcomes)[number]

/** Where an upload leads, with or without JavaScript. */
export function pageAfter(outcome: Outcome): string {
  return `/account/settings?picture=${outcome}`
}
