import { randomUUID } from "node:crypto"
import { anyPrefix } from "@/lib/surfaces"

const pattern = new RegExp(`^(?!.*${anyPrefix})[\\w-]{8,64}$`)

/** A well-formed id of the caller is kept, so that both sides can correlate their logs. */
export function requestIdFrom(given: string | null | undefined): string {
  return given && pattern.test(given) ? given : randomUUID()
}
