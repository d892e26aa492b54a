import { unstable_isUnrecognizedActionError } from "next/navigation"

export const failures = {
  lost: "There was no response. Check your connection and try again.",
  outdated: "This page is outdated. Reload it and try again.",
}

/** Of an action that threw: if this build lacks it, an earlier build rendered the page. */
export function failureOf(error: unknown): keyof typeof failures {
  return unstable_isUnrecognizedActionError(error) ? "outdated" : "lost"
}
