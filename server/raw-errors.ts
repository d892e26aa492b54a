import { randomUUID } from "node:crypto"
import { STATUS_CODES } from "node:http"
import { errorEnvelope } from "@/lib/api/envelope"
import { type ErrorCode, errors } from "@/lib/api/errors"
import { methods } from "@/lib/api/respond"
import { transportSecurity } from "@/lib/https"

// Answers to what is no request of HTTP, as text for a bare socket: Node has no response to put them into.

/** What the parser makes of an error, and what is said of it. Whatever else goes wrong is the client's HTTP. */
const refusals: Readonly<Record<string, [ErrorCode, string]>> = {
  HPE_HEADER_OVERFLOW: ["headers_too_large", "The request line and the headers have at most 16 KiB together."],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ["payload_too_large", "The chunks of the body have too long extensions."],
  ERR_HTTP_REQUEST_TIMEOUT: ["request_timeout", "The request did not arrive in time."],
}

export function refusalOf({ code = "" }: NodeJS.ErrnoException): string {
  const [name, message] = refusals[code] ?? ["bad_request", "This is not valid HTTP."]
  return write(name, message)
}

/** To CONNECT, which asks for a proxy. */
export function connectRefusal(): string {
  const allowed = methods.join(", ")
  return write("method_not_allowed", `CONNECT is not available here. Allowed: ${allowed}.`, [`Allow: ${allowed}`])
}

function write(code: ErrorCode, message: string, more: readonly string[] = []): string {
  const { status } = errors[code]
  const body = errorEnvelope(code, message)
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "Content-Type: application/json",
    "Cache-Control: no-store",
    "X-Content-Type-Options: nosniff",
    `X-Request-Id: ${randomUUID()}`,
    ...Object.entries(transportSecurity()).map((field) => field.join(": ")),
    ...more,
    "Connection: close",
    `Content-Length: ${Buffer.byteLength(body)}`,
  ]
  return `${head.join("\r\n")}\r\n\r\n${body}`
}
