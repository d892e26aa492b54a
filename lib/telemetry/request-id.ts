import { randomUUID } from "node:crypto"

/** The caller's own request id when it is well-formed, so that both sides' logs can be joined; else a new one. */
export function requestIdFrom(given: string | null | undefined): string {
  return given && /^[\w-]{8,64}$/.test(given) && !given.startsWith("tsk_") ? given : randomUUID()
}
