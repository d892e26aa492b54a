import { request } from "node:http"
import { connect } from "node:net"
import { text } from "node:stream/consumers"

// Sends requests verbatim that client libraries would normalize or refuse to send.

export type Sent = {
  method?: string
  path: string
  headers?: Readonly<Record<string, string>>
  body?: string | Buffer
}

export type RawResponse = { status: number; reason: string; headers: Headers; body: string }

/** Sends a request target, headers and a body verbatim; fetch would normalize them. */
export function ask(address: string, { method = "GET", path, headers = {}, body }: Sent): Promise<RawResponse> {
  const { hostname, port } = new URL(address)
  return new Promise<RawResponse>((done, failed) => {
    const sent = request({ hostname, port, method, path, headers })
    sent.on("error", failed)
    sent.on("response", (response) => {
      const { statusCode: status = 0, statusMessage: reason = "", rawHeaders } = response
      text(response).then((body) => done({ status, reason, headers: headersOf(rawHeaders), body }), failed)
    })
    sent.end(body)
  })
}

/** Longer than any response takes, and shorter than any timeout of a listener. */
const timeoutMs = 8_000

/** Appended to the data received if the server has not closed the connection. */
const leftOpen = "(still open)"

/**
 * Writes bytes to a connection and reads (one character per byte) until the server closes it, so the last request must
 * ask for `Connection: close` or be an error that closes it. `end` closes the client's side after writing.
 */
export function exchange(port: number, parts: readonly string[], end = false): Promise<string> {
  const socket = connect(port, "127.0.0.1")
  const chunks: Buffer[] = []
  return new Promise((done) => {
    const finish = (ending = "") => {
      clearTimeout(deadline)
      socket.destroy()
      done(Buffer.concat(chunks).toString("latin1") + ending)
    }
    const deadline = setTimeout(finish, timeoutMs, leftOpen)
    socket.on("data", (chunk) => chunks.push(chunk))
    // A server that closes a connection with unread data resets it after the response.
    socket.on("error", () => finish())
    socket.on("end", () => finish())
    for (const part of parts) socket.write(part, "latin1")
    if (end) socket.end()
  })
}

/** Parses the responses in the data of a connection. Data that is not a response is returned with status 0. */
export function responsesIn(data: string): Pick<RawResponse, "status" | "headers" | "body">[] {
  const responses = []
  let rest = data
  while (rest !== "") {
    const [whole, status, lines = ""] = /^HTTP\/1\.1 (\d{3}) [^\r]*\r\n((?:[^\r]+\r\n)*)\r\n/.exec(rest) ?? []
    if (whole === undefined) return [...responses, { status: 0, headers: new Headers(), body: rest }]
    const headers = headersOf(lines.split("\r\n").flatMap((line) => /^([^:]+): ?(.*)$/.exec(line)?.slice(1) ?? []))
    rest = rest.slice(whole.length)
    // 100 Continue is not a final response.
    if (status === "100") continue
    const { body, length } = bodyOf(rest, headers)
    responses.push({ status: Number(status), headers, body })
    rest = rest.slice(length)
  }
  return responses
}

/** A summary of a response: `200`, `400 bad_request`, `308 to /elsewhere`. */
export function summaryOf({ status, headers, body }: Pick<RawResponse, "status" | "headers" | "body">): string {
  if (headers.has("location")) return `${status} to ${headers.get("location")}`
  if (headers.has("content-encoding")) return `${status} in ${headers.get("content-encoding")}`
  if (status < 400) return String(status)
  const code = /^{"error":{"code":"(\w+)","message":".+"}}$/.exec(body)?.[1]
  return `${status} ${code ?? (body === "" ? "without a body" : "without the envelope")}`
}

function bodyOf(rest: string, headers: Headers): { body: string; length: number } {
  if (headers.get("transfer-encoding") !== "chunked") {
    // A body without a length ends when the connection closes (HTTP/1.0).
    const length = Number(headers.get("content-length") ?? rest.length)
    return { body: rest.slice(0, length), length }
  }
  let body = ""
  let offset = 0
  for (let size = -1; size !== 0; ) {
    const [line = "", digits = "0"] = /^([0-9a-f]+)\r\n/.exec(rest.slice(offset)) ?? []
    size = Number.parseInt(digits, 16)
    body += rest.slice(offset + line.length, offset + line.length + size)
    offset += line.length + size + "\r\n".length
  }
  return { body, length: offset }
}

function headersOf(raw: readonly string[]): Headers {
  const headers = new Headers()
  for (let index = 0; index < raw.length; index += 2) headers.append(raw[index] ?? "", raw[index + 1] ?? "")
  return headers
}
