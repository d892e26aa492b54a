import { Said } from "./said"

export const errors = {
  bad_request: { status: 400, meaning: "The query or the body is invalid; the message states what is accepted." },
  unauthorized: { status: 401, meaning: "The key is missing, unknown, malformed, revoked or expired." },
  insufficient_credits: { status: 402, meaning: "The balance cannot cover the maximum cost of the call." },
  key_limit_reached: {
    status: 402,
    meaning: "The call could cost more than the key's spending limit has left; the message states both.",
  },
  wrong_scope: { status: 403, meaning: "The key is for the other API." },
  forbidden: {
    status: 403,
    meaning: "The key's owner is banned or closed, or lacks the permission named in the message.",
  },
  missing_scope: { status: 403, meaning: "The key lacks the scope named in the message." },
  address_not_allowed: { status: 403, meaning: "The key's owner has limited it to other IP addresses." },
  invalid_signature: {
    status: 403,
    meaning: "The request is not signed with one of GitHub's keys for secret scanning.",
  },
  not_found: { status: 404, meaning: "There is nothing at this path." },
  method_not_allowed: {
    status: 405,
    meaning: "The endpoint does not support this method; `Allow` lists the supported methods.",
  },
  request_timeout: {
    status: 408,
    meaning: "The request did not arrive in time; the connection is closed.",
  },
  stream_timeout: {
    status: 408,
    meaning:
      "The last line of an incomplete stream: it took too long, or was read too slowly. Ask for fewer rows, or read pages.",
  },
  idempotency_in_progress: { status: 409, meaning: "A call with this Idempotency-Key is still running." },
  payload_too_large: { status: 413, meaning: "The body is larger than the endpoint accepts." },
  idempotency_mismatch: { status: 422, meaning: "This Idempotency-Key was already used with a different body." },
  rate_limited: { status: 429, meaning: "Too many requests; try again after `Retry-After` seconds." },
  headers_too_large: { status: 431, meaning: "The request line and the headers are longer than 16 KiB." },
  internal: { status: 500, meaning: "An unexpected error occurred; include the request id when you report it." },
  service_unavailable: {
    status: 503,
    meaning: "The service is temporarily unavailable; try again after `Retry-After` seconds.",
  },
} as const satisfies Record<string, { status: number; meaning: string }>

export type ErrorCode = keyof typeof errors

/**
 * The message is sent to the caller verbatim. The request log keeps only a message that was written with the tag `said`,
 * because another one may repeat what the client sent.
 */
export class Refusal extends Error {
  readonly kept: string | undefined

  constructor(
    readonly status: number,
    readonly code: string,
    message: string | Said,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message instanceof Said ? message.sent : message)
    this.name = "Refusal"
    this.kept = message instanceof Said ? message.kept : undefined
  }
}

/** @param status 400 to 599 */
export function refuse(status: number, code: string, message: string | Said, headers?: Record<string, string>): never {
  throw new Refusal(status, code, message, headers)
}

export function refuseAs(code: ErrorCode, message: Said, headers?: Record<string, string>): never {
  return refuse(errors[code].status, code, message, headers)
}
