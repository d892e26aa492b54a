/** Every code the API answers with by itself, its status and what it means (spec section 7, and beyond it). */
export const errors = {
  bad_request: { status: 400, meaning: "The query or the body is invalid; the message names what would be accepted." },
  unauthorized: { status: 401, meaning: "The key is missing, unknown, malformed, revoked or expired." },
  insufficient_credits: { status: 402, meaning: "The balance cannot cover the maximum cost of the call." },
  wrong_scope: { status: 403, meaning: "The key was issued for the other surface." },
  forbidden: { status: 403, meaning: "The key's owner is banned or closed, or lacks the permission that is named." },
  not_found: { status: 404, meaning: "There is nothing at this path." },
  method_not_allowed: { status: 405, meaning: "The endpoint does not have this method; `Allow` lists those it has." },
  request_timeout: { status: 408, meaning: "The request did not arrive in time; its connection is closed." },
  idempotency_in_progress: { status: 409, meaning: "A call with this Idempotency-Key is still running." },
  payload_too_large: { status: 413, meaning: "The body is larger than the endpoint reads." },
  idempotency_mismatch: { status: 422, meaning: "This Idempotency-Key was used with another body." },
  rate_limited: { status: 429, meaning: "Too many requests; `Retry-After` says when to go on, in seconds." },
  headers_too_large: { status: 431, meaning: "The request line and the headers are longer than 16 KiB." },
  internal: { status: 500, meaning: "An unexpected error; quote the request id when you report it." },
  service_unavailable: {
    status: 503,
    meaning: "Out of service for the moment; try again after `Retry-After` seconds.",
  },
} as const satisfies Record<string, { status: number; meaning: string }>

export type ErrorCode = keyof typeof errors

/** An answer that is not a success, on its way to the envelope. Its message is sent to the caller as it is. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message)
    this.name = "Refusal"
  }
}

/**
 * Ends a request with a status, code and message of the handler's choice (spec section 4, rule 3 of the user API).
 * @param status 400 to 599
 */
export function refuse(status: number, code: string, message: string, headers?: Record<string, string>): never {
  throw new Refusal(status, code, message, headers)
}

/** Ends a request with an error of the table. */
export function refuseAs(code: ErrorCode, message: string, headers?: Record<string, string>): never {
  return refuse(errors[code].status, code, message, headers)
}
