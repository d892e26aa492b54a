import { randomUUID } from "node:crypto"
import { STATUS_CODES } from "node:http"
import { errorEnvelope } from "@/lib/api/envelope"
import { type ErrorCode, errors } from "@/lib/api/errors"
import { methods } from "@/lib/api/methods"
import { transportSecurity } from "@/lib/platform/http/https"

// Node provides no response object for invalid HTTP, so these are texts for a raw socket.

/** Any other error is a `bad_request`. */
const refusals: Readonly<Record<string, [ErrorCode, string]>> = {
  HPE_HEADER_OVERFLOW: ["headers_too_large", "The request line and the headers are longer than 16 KiB."],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ["payload_too_large", "The chunk extensions of the body are too long."],
  ERR_HTTP_REQUEST_TIMEOUT: ["request_timeout", "The request did not arrive in time."],
}

export function refusalOf({ code = "" }: NodeJS.ErrnoException): string {
  const [name, message] = refusals[code] ?? ["bad_request", "The request is not valid HTTP."]
  return rawResponse(name, message)
}

export function sizeRefusal(maxBytes: number): string {
  return rawResponse("payload_too_large", `A body can have at most ${maxBytes} bytes.`)
}

export function connectRefusal(): string {
  const allowed = methods.join(", ")
  return rawResponse("method_not_allowed", `CONNECT is not available here. Allowed: ${allowed}.`, [`Allow: ${allowed}`])
}

function rawResponse(code: ErrorCode, message: string, headers: readonly string[] = []): string {
  const { status } = errors[code]
  const body = errorEnvelope(code, message)
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "Content-Type: application/json",
    "Cache-Control: no-store",
    "X-Content-Type-Options: nosniff",
    `X-Request-Id: ${randomUUID()}`,
    ...Object.entries(transportSecurity()).map((field) => field.join(": ")),
    ...headers,
    "Connection: close",
    `Content-Length: ${Buffer.byteLength(body)}`,
  ]
  return `${lines.join("\r\n")}\r\n\r\n${body}`
}
