import { request } from "node:http"
import { connect } from "node:net"
import { text } from "node:stream/consumers"

// For tests: requests as they stand, which client libraries would tidy or refuse to send.

export type Sent = {
  method?: string
  path: string
  headers?: Readonly<Record<string, string>>
  body?: string | Buffer
}

export type RawResponse = { status: number; reason: string; headers: Headers; body: string }

/** Sends a target, headers and a body as they stand: fetch would tidy them. */
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

/** Longer than any answer takes, and shorter than any timeout of a listener. */
const patienceMs = 8_000

/** Behind what a connection carried that its server has left open. */
export const leftOpen = "(still open)"

/**
 * Writes bytes to a connection and reads, one character a byte, until the server ends it: the last request is to ask for
 * that, or to be one that no connection survives. `end` ends this side of it, too, as who gives up in the middle does.
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
    const deadline = setTimeout(finish, patienceMs, leftOpen)
    socket.on("data", (chunk) => chunks.push(chunk))
    // Who ends a connection without having read everything resets it, behind the answer.
    socket.on("error", () => finish())
    socket.on("end", () => finish())
    for (const part of parts) socket.write(part, "latin1")
    if (end) socket.end()
  })
}

/** The answers in what a connection carried, one after the other. Whatever is none is an answer of status 0. */
export function responsesIn(carried: string): Pick<RawResponse, "status" | "headers" | "body">[] {
  const answers = []
  let rest = carried
  while (rest !== "") {
    const [whole, status, lines = ""] = /^HTTP\/1\.1 (\d{3}) [^\r]*\r\n((?:[^\r]+\r\n)*)\r\n/.exec(rest) ?? []
    if (whole === undefined) return [...answers, { status: 0, headers: new Headers(), body: rest }]
    const headers = headersOf(lines.split("\r\n").flatMap((line) => /^([^:]+): ?(.*)$/.exec(line)?.slice(1) ?? []))
    rest = rest.slice(whole.length)
    // 100 Continue is no answer.
    if (status === "100") continue
    const { body, length } = bodyOf(rest, headers)
    answers.push({ status: Number(status), headers, body })
    rest = rest.slice(length)
  }
  return answers
}

/** What an answer says in a few words: `200`, `400 bad_request`, `308 to /elsewhere`. */
export function summaryOf({ status, headers, body }: Pick<RawResponse, "status" | "headers" | "body">): string {
  if (headers.has("location")) return `${status} to ${headers.get("location")}`
  if (headers.has("content-encoding")) return `${status} in ${headers.get("content-encoding")}`
  if (status < 400) return String(status)
  const code = /^{"error":{"code":"(\w+)","message":".+"}}$/.exec(body)?.[1]
  return `${status} ${code ?? (body === "" ? "without a body" : "without the envelope")}`
}

function bodyOf(rest: string, headers: Headers): { body: string; length: number } {
  if (headers.get("transfer-encoding") !== "chunked") {
    // What has no length ends with its connection (HTTP/1.0).
    const length = Number(headers.get("content-length") ?? rest.length)
    return { body: rest.slice(0, length), length }
  }
  let body = ""
  let place = 0
  for (let size = -1; size !== 0; ) {
    const [line = "", digits = "0"] = /^([0-9a-f]+)\r\n/.exec(rest.slice(place)) ?? []
    size = Number.parseInt(digits, 16)
    body += rest.slice(place + line.length, place + line.length + size)
    place += line.length + size + "\r\n".length
  }
  return { body, length: place }
}

function headersOf(raw: readonly string[]): Headers {
  const headers = new Headers()
  for (let index = 0; index < raw.length; index += 2) headers.append(raw[index] ?? "", raw[index + 1] ?? "")
  return headers
}
