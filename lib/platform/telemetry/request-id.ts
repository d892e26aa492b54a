import { randomUUID } from "node:crypto"
import { foreignSecret } from "@/lib/platform/text/foreign-secret"
import { anyPrefix } from "@/lib/surfaces"

/** No secret that was sent in its place. */
const pattern = new RegExp(`^(?!.*${anyPrefix}|${foreignSecret})[\\w-]{8,64}$`)

export function isRequestId(text: string): boolean {
  return pattern.test(text)
}

/** A well-formed id of the caller is kept, so that both sides can correlate their logs. */
export function requestIdFrom(given: string | null | undefined, made = requestIdAt(Date.now())): string {
  return given && isRequestId(given) ? given : made
}

/** A UUIDv7 (RFC 9562): it begins with the time, in milliseconds. */
export function requestIdAt(ms: number): string {
  const time = ms.toString(16).padStart(12, "0")
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}

/** Undefined for ids that do not begin with a time. */
export function timeOfRequestId(id: string): Date | undefined {
  const [, high, low] = /^([\da-f]{8})-([\da-f]{4})-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/.exec(id) ?? []
  return high && low ? new Date(Number.parseInt(high + low, 16)) : undefined
}
