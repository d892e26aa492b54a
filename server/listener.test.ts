import { once } from "node:events"
import { readdirSync } from "node:fs"
import { Agent, get, type IncomingMessage, type RequestListener, type Server } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import { Readable } from "node:stream"
import { text } from "node:stream/consumers"
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest"
import { watchRequests } from "@/lib/start"
import { createKey, createUser } from "@/prisma/factories"
import { createListener, type Listener } from "./listener"

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

/** Sends a request as it stands, which no client library would, and reads until the connection ends. */
async function raw(head: string): Promise<string> {
  const socket = connect(port, "127.0.0.1")
  socket.write(`${head}\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
  return text(socket)
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

test("a tunnel is refused, and a change of protocol is not made", async () => {
  expect(await raw("CONNECT example.com:443 HTTP/1.1")).toMatch(/^HTTP\/1\.1 405 /)
  const { secret } = await createKey({ user: await createUser(), surface: "user" })
  const upgrade = `GET /api/v1/me HTTP/1.1\r\nx-api-key: ${secret}\r\nUpgrade: websocket`
  expect(await raw(upgrade)).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
})

test("a body of any framing reaches the route", async () => {
  const { secret } = await createKey({ user: await createUser(), surface: "user" })
  const start = `POST /api/v1/me/run HTTP/1.1\r\nx-api-key: ${secret}\r\nHost: localhost\r\nConnection: close\r\n`
  for (const rest of [
    "Content-Length: 2\r\n\r\n{}",
    "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
  ]) {
    const socket = connect(port, "127.0.0.1")
    socket.write(start + rest)
    expect(await text(socket)).toContain("text must be a string")
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
    const socket = connect(port, "127.0.0.1")
    socket.write(begun)
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 408 /)
  }
})

test("a head above 16 KiB is refused", async () => {
  expect(await raw(`GET /api/v1/me HTTP/1.1\r\nX-Long: ${"x".repeat(17_000)}`)).toMatch(/^HTTP\/1\.1 431 /)
})

test.each(["localhost:99999", "1.2.3.999", "[:::::]", "xn--a", "a b", "", "x".repeat(8_000)])(
  "the host %s is no matter of the API",
  async (host) => {
    const { secret } = await createKey({ user: await createUser(), surface: "user" })
    const socket = connect(port, "127.0.0.1")
    socket.write(
      `GET /api/v1/me/credits?limit=1 HTTP/1.1\r\nHost: ${host}\r\nx-api-key: ${secret}\r\nConnection: close\r\n\r\n`,
    )
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
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
