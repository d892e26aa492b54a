import { anyPrefix } from "@/lib/surfaces"
import { refuseAs } from "./errors"
import { ours, said } from "./said"

export const idempotencyKeyHeader = "Idempotency-Key"

const apiKey = new RegExp(anyPrefix)

/**
 * May be quoted, as in draft-ietf-httpapi-idempotency-key-header, or bare, as most clients send it.
 * @throws Refusal 400
 */
export function readIdempotencyKey(headers: Headers): string | null {
  const value = headers.get(idempotencyKeyHeader)
  if (value === null) return null
  const key = /^"(.*)"$/.exec(value)?.[1] ?? value
  // A header sent twice arrives as one value, joined by a comma and a space; the space makes it invalid.
  if (!/^[\x21-\x7E]{1,255}$/.test(key) || key.includes('"')) {
    return refuseAs(
      "bad_request",
      said`${ours(idempotencyKeyHeader)} must be 1 to 255 visible ASCII characters, sent once.`,
    )
  }
  // Idempotency keys are stored in plain text, and API keys must never be.
  if (apiKey.test(key)) {
    return refuseAs(
      "bad_request",
      said`${ours(idempotencyKeyHeader)} must not contain an API key. Generate a random key for each call.`,
    )
  }
  return key
}
