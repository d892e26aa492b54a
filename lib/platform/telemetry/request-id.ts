import { randomUUID } from "node:crypto"
import { anyPrefix } from "@/lib/surfaces"

const pattern = new RegExp(`^(?!.*${anyPrefix})[\\w-]{8,64}$`)

/** The caller's request id if it is well-formed, so that both sides can correlate their logs; otherwise a new one. */
export function requestIdFrom(given: string | null | undefined): string {
  return given && pattern.test(given) ? given : randomUUID()
}
