import { kinds, surfaces } from "@/lib/surfaces"
import { refuseAs } from "./errors"

export const idempotencyKeyHeader = "Idempotency-Key"

/**
 * The key under which a retry is recognised, or null. As draft-ietf-httpapi-idempotency-key-header writes it, in quotes,
 * or bare as most clients send it: both name the same key.
 * @throws Refusal 400
 */
export function readIdempotencyKey(headers: Headers): string | null {
  const sent = headers.get(idempotencyKeyHeader)
  if (sent === null) return null
  const key = /^"(.*)"$/.exec(sent)?.[1] ?? sent
  // Headers that are sent twice arrive joined by a comma and a space.
  if (!/^[\x21-\x7E]{1,255}$/.test(key) || key.includes('"')) {
    return refuseAs("bad_request", `${idempotencyKeyHeader} must be 1 to 255 visible ASCII characters, sent once.`)
  }
  // What retries are recognised by is stored as it is, which an API key never is.
  if (surfaces.some((surface) => key.includes(kinds[surface].prefix))) {
    return refuseAs("bad_request", `${idempotencyKeyHeader} must not hold an API key. Make a random one for each call.`)
  }
  return key
}
