import { once } from "node:events"
import { readdirSync } from "node:fs"
import { Agent, get, type IncomingMessage, type RequestListener, type Server } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import { Readable } from "node:stream"
import { text } from "node:stream/consumers"
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest"
import { watchRequests } from "@/lib/next/requests"
import { createListener, type Listener } from "@/server/listener"
import { createKey, createUser } from "@/tests/support/factories"

let server: Server
let close: Listener["close"]
let port: number
/** Ends the answers that Next has under way. */
let finish: (() => void)[]

/** In Next's place: names itself, and takes its time where it is asked to. */
const next: RequestListener = ({ url }, response) => {
  const answer = () => response.end(`Next: ${url}`)
  if (url === "/slow") finish.push(answer)
  else answer()
}

beforeAll(watchRequests)

beforeEach(async () => {
  finish = []
  ;({ server, close } = createListener(next))
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  port = (server.address() as AddressInfo).port
})

afterEach(() => {
  server.closeAllConnections()
  server.close()
})

/** Sends what no client library would, as it stands, and reads until the connection ends. */
function send(...parts: (string | Buffer)[]): Promise<string> {
  const socket = connect(port, "127.0.0.1")
  for (const part of parts) socket.write(part)
  return text(socket)
}

function raw(head: string): Promise<string> {
  return send(`${head}\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
}

function statuses(answers: string): string[] {
  return [...answers.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status = ""]) => status)
}

function refusal(status: string, code: string): RegExp {
  return new RegExp(
    `^HTTP/1\\.1 ${status}\r\nContent-Type: application/json\r\nCache-Control: no-store\r\n` +
      `X-Content-Type-Options: nosniff\r\nX-Request-Id: [0-9a-f-]{36}\r\n(Allow: .*\r\n)?Connection: close\r\n` +
      `Content-Length: \\d+\r\n\r\n{"error":{"code":"${code}","message":".+"}}$`,
  )
}

async function open(path: string, agent?: Agent): Promise<IncomingMessage> {
  const [response] = await once(get({ port, path, agent }), "response")
  return response
}

const paths = readdirSync("app/api/v1", { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith("route.ts"))
  .map((file) => `/api/v1/${file.slice(0, -"/route.ts".length)}`)

test.each(paths)("%s is answered by its route file and not by Next", async (path) => {
  const answer = await raw(`OPTIONS ${path}?a=%zz HTTP/1.1`)
  expect(answer).toMatch(/^HTTP\/1\.1 204 No Content\r\n/)
  expect(answer).toMatch(/\r\nallow: (GET, HEAD|POST), OPTIONS\r\n/)
})

test.each(["/", "/api-keys", "/api/auth/session", "/api/v1", "/api/v1/me/", "/api/v1/ME", "/api/v1/%6de", "/api/v1/x"])(
  "%s is left to Next",
  async (path) => {
    expect(await raw(`GET ${path} HTTP/1.1`)).toContain(`Next: ${path}`)
  },
)

test.each(["//api/v1/me", "/api/v1/%zz", "http://localhost/api/v1/me"])(
  "%s reaches no route, but Next as a path that nothing serves",
  async (target) => {
    expect(await raw(`GET ${target} HTTP/1.1`)).toContain("Next: /api/unreadable")
  },
)

test.each(["TRACE", "PROPFIND", "PURGE"])(
  "%s, which Next has no answer for, is a 405 in the envelope",
  async (method) => {
    for (const [path, allowed] of [
      ["/api/v1/me", "GET, HEAD, OPTIONS"],
      ["/api/v1/me/run", "POST, OPTIONS"],
      ["/docs", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"],
    ]) {
      const answer = await raw(`${method} ${path} HTTP/1.1`)
      expect(answer).toMatch(/^HTTP\/1\.1 405 Method Not Allowed\r\n/)
      expect(answer).toContain(`\r\nallow: ${allowed}\r\n`)
      expect(answer).toContain(
        `{"error":{"code":"method_not_allowed","message":"${method} is not available here. Allowed: ${allowed}."}}`,
      )
    }
  },
)

test("a tunnel is refused, also one whose client is gone before it hears of it", async () => {
  expect(await raw("CONNECT example.com:443 HTTP/1.1")).toMatch(refusal("405 Method Not Allowed", "method_not_allowed"))
  for (let times = 0; times < 10; times++) {
    const socket = connect(port, "127.0.0.1")
    await once(socket, "connect")
    await new Promise((sent) => socket.write(`CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n${"x".repeat(100_000)}`, sent))
    socket.resetAndDestroy()
  }
  // An error of a socket that nobody listens to would have ended this process.
  expect(await raw("GET / HTTP/1.1")).toContain("Next: /")
})

test("a change of protocol is not made, and who sends on in another one is not read", async () => {
  const { secret } = await createKey({ user: await createUser(), surface: "user" })
  const upgrade = `GET /api/v1/me HTTP/1.1\r\nx-api-key: ${secret}\r\nUpgrade: websocket`
  expect(await raw(upgrade)).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
  const asked = `${upgrade}\r\nConnection: Upgrade\r\nHost: localhost\r\n\r\n`
  const answer = await send(asked, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
  expect(statuses(answer)).toEqual(["200"])
  expect(answer).toMatch(/\r\nConnection: close\r\n/)
})

test.each([
  ["400 Bad Request", "bad_request", "no HTTP", ["hello\r\n\r\n"]],
  ["400 Bad Request", "bad_request", "NUL in a header", ["GET / HTTP/1.1\r\nHost: a\r\nX-A: \0\r\n\r\n"]],
  [
    "400 Bad Request",
    "bad_request",
    "a chunk that is none, in a body that a route reads",
    ["POST /slow HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", "zz\r\n"],
  ],
  [
    "431 Request Header Fields Too Large",
    "headers_too_large",
    "a head above 16 KiB",
    [`GET / HTTP/1.1\r\nX-Long: ${"x".repeat(17_000)}\r\n\r\n`],
  ],
  [
    "413 Payload Too Large",
    "payload_too_large",
    "a chunk that says more of itself than it brings",
    [
      "POST /slow HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
      `1;a=${"x".repeat(20_000)}\r\na\r\n0\r\n\r\n`,
    ],
  ],
])("%s in the envelope, as %s, for %s", async (status, code, _what, parts) => {
  expect(await send(...parts)).toMatch(refusal(status, code))
})

test("what is no request is answered after all that was asked before it, and once", async () => {
  const slow = "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n"
  const answers = send(slow, slow, "nonsense\r\n\r\n", "more\r\n\r\n")
  await expect.poll(() => finish.length).toBe(2)
  for (const answer of finish) answer()
  expect(statuses(await answers)).toEqual(["200", "200", "400"])
})

test("who is answered already gets no second answer for a body that breaks off", async () => {
  const begun = "POST /any HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
  const socket = connect(port, "127.0.0.1")
  socket.write(begun)
  await once(socket, "readable")
  socket.write("zz\r\n")
  expect(statuses(await text(socket))).toEqual(["200"])
})

test.each(["application/json", "text/plain"])(
  "who sends %s without an end has its answer while it does, and is told that the connection ends",
  async (type) => {
    const { secret } = await createKey({ user: await createUser(), surface: "user" })
    const head = `Host: a\r\nx-api-key: ${secret}\r\nContent-Type: ${type}\r\n`
    const chunk = `30d40\r\n${"a".repeat(200_000)}\r\n`
    const answer = await send(
      `POST /api/v1/me/run HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n`,
      ...Array.from({ length: 20 }, () => chunk),
      `0\r\n\r\nGET /api/v1/me HTTP/1.1\r\n${head}\r\n`,
    )
    expect(statuses(answer)).toEqual([type === "text/plain" ? "400" : "413"])
    expect(answer).toMatch(/\r\nconnection: close\r\n/i)
  },
)

test("of more requests than one connection may have waiting none is worked on, and the connection ends", async () => {
  const answers = await send("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(1_000))
  expect(answers).toBe("")
  expect(finish).toHaveLength(32)
})

test("a connection on which nothing moves ends, though an answer is owed", async () => {
  expect(server.timeout).toBe(60_000)
  server.timeout = 50
  expect(await send("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")).toBe("")
})

test("a body of any framing reaches the route", async () => {
  const { secret } = await createKey({ user: await createUser(), surface: "user" })
  const start = `POST /api/v1/me/run HTTP/1.1\r\nx-api-key: ${secret}\r\nHost: localhost\r\nConnection: close\r\n`
  for (const rest of [
    "Content-Length: 2\r\n\r\n{}",
    "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
  ]) {
    expect(await send(start + rest)).toContain("text must be a string")
  }
})

test("a body is read up to its limit, whether its length was announced or not", async () => {
  const { secret } = await createKey({ user: await createUser(), surface: "user" })
  const body = "a".repeat(1_000_000)
  for (const framed of [body, Readable.from([body])]) {
    const init = {
      method: "POST",
      headers: { "x-api-key": secret, "content-type": "application/json" },
      body: framed,
      duplex: "half",
    } as RequestInit
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/me/run`, init)
    expect([answer.status, (await answer.json()).error.code]).toEqual([413, "payload_too_large"])
  }
})

test("a connection is kept for the next request, for longer than proxies keep it", async () => {
  expect(server.keepAliveTimeout).toBe(65_000)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const sockets = new Set<Socket>()
  for (const path of ["/api/v1/me", "/api/v1/me", "/docs"]) {
    const response = await open(path, agent)
    sockets.add(response.socket)
    expect(response.headers["keep-alive"]).toBe("timeout=65")
    await text(response)
  }
  expect(sockets.size).toBe(1)
  agent.destroy()
})

test("who does not send what it began is cut off with a 408", async () => {
  expect([server.headersTimeout, server.requestTimeout]).toEqual([10_000, 30_000])
  // Nobody waits that long in a test: looked at is that what is set takes effect.
  server.headersTimeout = 50
  server.requestTimeout = 100
  for (const begun of [
    "GET /api/v1/me HT",
    "POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf",
  ]) {
    expect(await send(begun)).toMatch(refusal("408 Request Timeout", "request_timeout"))
  }
})

test.each(["localhost:99999", "1.2.3.999", "[:::::]", "xn--a", "a b", "", "x".repeat(8_000)])(
  "the host %s is no matter of the API",
  async (host) => {
    const { secret } = await createKey({ user: await createUser(), surface: "user" })
    const head = `Host: ${host}\r\nx-api-key: ${secret}\r\nConnection: close\r\n\r\n`
    expect(await send(`GET /api/v1/me/credits?limit=1 HTTP/1.1\r\n${head}`)).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
  },
)

test.each([
  ["nothing", ""],
  ["half a head", "GET /api/v1/me HTTP/1.1\r\nHost:"],
  [
    "half a body of a request that is refused already",
    "POST /api/v1/me/run HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{",
  ],
])("asked to end, it does not wait for a client that sends %s", async (_what, sent) => {
  const socket = connect(port, "127.0.0.1")
  await once(socket, "connect")
  socket.write(sent)
  const ended = text(socket)
  // By the time another request is answered, this one has arrived.
  await text(await open("/"))
  await close()
  await ended
})

test("asked to end, it finishes what is under way, closes what is idle and takes nothing new", async () => {
  const agent = new Agent({ keepAlive: true })
  const answered = await open("/", agent)
  const idle = answered.socket
  await text(answered)
  const slow = once(get({ port, path: "/slow", agent: new Agent({ keepAlive: true }) }), "response")
  await expect.poll(() => finish.length).toBe(1)

  let closed = false
  const closing = close().then(() => {
    closed = true
  })
  if (!idle.destroyed) await once(idle, "close")
  const [error] = await once(connect(port, "127.0.0.1"), "error")
  expect(error.code).toBe("ECONNREFUSED")
  expect(closed).toBe(false)

  for (const answer of finish) answer()
  const [answer] = await slow
  expect(await text(answer)).toBe("Next: /slow")
  await closing
})
