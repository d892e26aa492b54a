import { randomUUID } from "node:crypto"

/** The caller's request id if it is well-formed, so that both sides can correlate their logs; otherwise a new one. */
export function requestIdFrom(given: string | null | undefined): string {
  return given && /^[\w-]{8,64}$/.test(given) && !given.startsWith("tsk_") ? given : randomUUID()
}
