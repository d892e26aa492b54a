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
  if (/^[\x21-\x7E]{1,255}$/.test(key) && !key.includes('"')) return key
  return refuseAs("bad_request", `${idempotencyKeyHeader} must be 1 to 255 visible ASCII characters, sent once.`)
}
