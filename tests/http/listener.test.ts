import { once } from "node:events"
import { readdirSync } from "node:fs"
import { Agent, get, type IncomingMessage, type Server } from "node:http"
import { type AddressInfo, connect, Socket } from "node:net"
import { Readable } from "node:stream"
import { text } from "node:stream/consumers"
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest"
import { env } from "@/lib/env"
import { maxUploadBytes, uploadPath } from "@/lib/platform/http/body-limits"
import { watchRequests } from "@/lib/process/incoming-requests"
import { singleton } from "@/lib/singleton"
import { createListener, type Listener, type NextHandler } from "@/server/listener"
import { createKey, createOrder, createUser } from "@/tests/support/factories"

let server: Server
let close: Listener["close"]
let port: number
/** The number of forms that Next has started to read. */
let reading = 0
/** Each of these sends a response that Next has pending. */
let finish: (() => void)[]

/**
 * Replaces Next: reads the body, names itself in the response, and keeps responses pending if the path ends with /slow.
 */
const next: NextHandler = async (request, response) => {
  const { url } = request
  if (url?.endsWith("/slow")) await new Promise<void>((done) => finish.push(done))
  if (url === "/form" || url === uploadPath) {
    reading++
    const body = await text(request).catch(() => undefined)
    if (body !== undefined) response.end(`Next: ${body.length} bytes`)
  } else response.end(`Next: ${url}`)
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

/** Sends bytes that no client library would send, and reads until the connection ends. */
function send(...parts: (string | Buffer)[]): Promise<string> {
  const socket = connect(port, "127.0.0.1")
  for (const part of parts) socket.write(part)
  return text(socket)
}

function raw(lines: string): Promise<string> {
  return send(`${lines}\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
}

function statuses(received: string): string[] {
  return [...received.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status = ""]) => status)
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

test.each(paths)("%s is handled by its route file and not by Next", async (path) => {
  const response = await raw(`OPTIONS ${path}?a=%zz HTTP/1.1`)
  expect(response).toMatch(/^HTTP\/1\.1 204 No Content\r\n/)
  expect(response).toMatch(/\r\nallow: (GET, HEAD|POST), OPTIONS\r\n/)
})

test.each(["/", "/api-keys", "/api/auth/session", "/api/v1", "/api/v1/me/", "/api/v1/ME", "/api/v1/%6de", "/api/v1/x"])(
  "%s is handled by Next",
  async (path) => {
    expect(await raw(`GET ${path} HTTP/1.1`)).toContain(`Next: ${path}`)
  },
)

test.each(["//api/v1/me", "/api/v1/%zz", "http://localhost/api/v1/me"])(
  "%s reaches no route: Next handles it as an unknown path",
  async (target) => {
    expect(await raw(`GET ${target} HTTP/1.1`)).toContain("Next: /api/unreadable")
  },
)

test.each(["TRACE", "PROPFIND", "PURGE"])(
  "%s, which Next does not support, returns a 405 in the envelope",
  async (method) => {
    for (const [path, allowed] of [
      ["/api/v1/me", "GET, HEAD, OPTIONS"],
      ["/api/v1/me/run", "POST, OPTIONS"],
      ["/docs", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"],
    ]) {
      const response = await raw(`${method} ${path} HTTP/1.1`)
      expect(response).toMatch(/^HTTP\/1\.1 405 Method Not Allowed\r\n/)
      expect(response).toContain(`\r\nallow: ${allowed}\r\n`)
      expect(response).toContain(
        `{"error":{"code":"method_not_allowed","message":"${method} is not available here. Allowed: ${allowed}."}}`,
      )
    }
  },
)

test("CONNECT is refused, even when its client disconnects before the response", async () => {
  expect(await raw("CONNECT example.com:443 HTTP/1.1")).toMatch(refusal("405 Method Not Allowed", "method_not_allowed"))
  for (let times = 0; times < 10; times++) {
    const socket = connect(port, "127.0.0.1")
    await once(socket, "connect")
    await new Promise((sent) => socket.write(`CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n${"x".repeat(100_000)}`, sent))
    socket.resetAndDestroy()
  }
  // An unhandled socket error would have terminated this process.
  expect(await raw("GET / HTTP/1.1")).toContain("Next: /")
})

const formHead = (path: string, more: string, method = "POST") =>
  `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n\r\n`
const chunk = (bytes: number) => `${bytes.toString(16)}\r\n${"x".repeat(bytes)}\r\n`
const ofLength = (bytes: number) => `Content-Length: ${bytes}\r\nConnection: close`
const withoutLength = "Transfer-Encoding: chunked\r\nConnection: close"

test.each([
  ["a form of 64 KiB", "/form", [ofLength(65_536), "x".repeat(65_536)], "Next: 65536 bytes"],
  [
    "the same without its length",
    "/form",
    [withoutLength, chunk(40_000), chunk(25_536), "0\r\n\r\n"],
    "Next: 65536 bytes",
  ],
  ["a form of a byte more, before any byte arrives", "/form", [ofLength(65_537)], "413 Payload Too Large"],
  [
    "the same below a path of the API that leads to a page",
    "/api/../form",
    [ofLength(65_537)],
    "413 Payload Too Large",
  ],
  ["one of nine megabytes", "/form", [ofLength(9_000_000), "x".repeat(100_000)], "413 Payload Too Large"],
  [
    "one without its length that never ends",
    "/form",
    [withoutLength, chunk(40_000), chunk(25_537)],
    "413 Payload Too Large",
  ],
  [
    "a picture that is too large",
    uploadPath,
    [ofLength(maxUploadBytes + 1)],
    "location: /account/settings?picture=too_large",
  ],
])(
  "%s: Next gets bodies within its limits; the server refuses others before it reads them",
  async (_, path, [more = "", ...body], expected) => {
    expect(await send(formHead(path, more), ...body)).toContain(expected)
  },
)

test.each(["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"])(
  "%s has no body: the server refuses a body before it reads it",
  async (method) => {
    for (const [more, body] of [
      [ofLength(1), "x"],
      [withoutLength, `${chunk(1)}0\r\n\r\n`],
    ] as const) {
      expect(await send(formHead("/form", more, method), body)).toContain("413 Payload Too Large")
    }
  },
)

/** Sends a tenth of a form. Resolves to the response, or to the connection once Next waits for the rest. */
async function startForm(address: string): Promise<string | Socket> {
  const before = reading
  const socket = connect(port, "127.0.0.1")
  const response = once(socket, "data").then(([data]) => String(data))
  socket.write(`${formHead("/form", `X-Forwarded-For: ${address}\r\n${ofLength(10)}`)}x`)
  const isRead = vi.waitUntil(() => reading > before, { timeout: 20_000 })
  return Promise.race([response, isRead.then(() => socket)])
}

test("an address can have four incomplete bodies, and a process 64", async () => {
  // Enough turns for all of them.
  Object.assign(env(), { TRUSTED_PROXY_HOPS: 1, DATABASE_POOL_MAX: 12 })
  const [first] = [
    await startForm("192.0.2.1"),
    await startForm("192.0.2.1"),
    await startForm("192.0.2.1"),
    await startForm("192.0.2.1"),
  ]
  expect(await startForm("192.0.2.1")).toMatch(/^HTTP\/1\.1 429 [\s\S]*\r\nretry-after: 2\r\n/i)
  if (!(first instanceof Socket)) return expect.fail(first)
  const response = text(first)
  first.write("x".repeat(9))
  expect(await response).toContain("Next: 10 bytes")
  expect(await startForm("192.0.2.1")).toBeInstanceOf(Socket)
  for (let other = 1; other <= 60; other++) expect(await startForm(`198.51.100.${other}`)).toBeInstanceOf(Socket)
  expect(await startForm("203.0.113.1")).toMatch(/^HTTP\/1\.1 503 [\s\S]*\r\nretry-after: 2\r\n/i)
  // A complete form does not count.
  expect(await send(formHead("/form", `X-Forwarded-For: 203.0.113.1\r\n${ofLength(1)}`), "x")).toContain(
    "Next: 1 bytes",
  )
  Object.assign(env(), { TRUSTED_PROXY_HOPS: 0, DATABASE_POOL_MAX: 10 })
})

test("forms of disconnected clients do not count, whether Next reads them or not", async () => {
  for (let times = 0; times < 20; times++) {
    const socket = connect(port, "127.0.0.1")
    await once(socket, "connect")
    await new Promise((sent) => socket.write(`${formHead("/form", ofLength(10))}x`, sent))
    socket.resetAndDestroy()
  }
  for (let times = 0; times < 6; times++) {
    const read = await vi.waitFor(async () => {
      const started = await startForm("192.0.2.1")
      return started instanceof Socket ? started : expect.fail(started)
    })
    read.resetAndDestroy()
  }
})

describe("of an address, Next renders three pages at once", () => {
  const request = (path: string, address: string) =>
    `GET ${path} HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: ${address}\r\nConnection: close\r\n\r\n`
  const get = (path: string, address = "192.0.2.1") => send(request(path, address))
  let slow: Promise<string>[]

  beforeEach(async () => {
    Object.assign(env(), { TRUSTED_PROXY_HOPS: 1, DATABASE_POOL_MAX: 9 })
    slow = [get("/slow"), get("/slow"), get("/slow")]
    await expect.poll(() => finish.length).toBe(3)
    return () => Object.assign(env(), { TRUSTED_PROXY_HOPS: 0, DATABASE_POOL_MAX: 10, DATABASE_WAIT_MS: 2_400 })
  })

  afterEach(async () => {
    for (const respond of finish) respond()
    expect(new Set(statuses((await Promise.all(slow)).join("\n")))).toEqual(new Set(["200"]))
    expect(singleton("turns", () => new Map())).toEqual(new Map())
  })

  test("others wait for their turn, even if a client has disconnected", async () => {
    env().DATABASE_WAIT_MS = 60_000
    const [gone, arrived] = [connect(port, "127.0.0.1"), once(server, "request")]
    gone.write(request("/slow", "192.0.2.1"))
    const [, response] = await arrived
    gone.resetAndDestroy()
    await once(response, "close")
    const waiting = get("/slow")
    await Promise.race([waiting, get("/", "198.51.100.1")])
    expect(finish).toHaveLength(3)
    finish[0]?.()
    await expect.poll(() => finish.length).toBe(4)
    slow.push(waiting)
  })

  test("one that waits too long gets a 429", async () => {
    env().DATABASE_WAIT_MS = 1_500
    const refusal = await get("/")
    expect(refusal).toMatch(/^HTTP\/1\.1 429 [\s\S]*\r\nretry-after: 2\r\n/i)
    expect(refusal).toContain("Too many pages are being loaded from here.")
  })

  test("incomplete forms have their own turns, so that holding back a byte does not skip the queue", async () => {
    env().DATABASE_WAIT_MS = 1_500
    const forms = [await startForm("192.0.2.1"), await startForm("192.0.2.1"), await startForm("192.0.2.1")]
    expect(forms.map((form) => form instanceof Socket)).toEqual([true, true, true])
    expect(await startForm("192.0.2.1")).toMatch(/^HTTP\/1\.1 429 /)
    for (const form of forms) if (form instanceof Socket) form.resetAndDestroy()
  })

  test("other addresses, files of the build, probes and the API do not wait", async () => {
    for (const path of ["/_next/static/x.js", "/healthz", "/api/leaks"]) {
      expect(await get(path)).toContain(`Next: ${path}`)
    }
    expect(await get("/", "192.0.2.2")).toContain("Next: /")
    expect(statuses(await get("/api/v1/me"))).toEqual(["401"])
  })
})

test("a protocol upgrade is ignored, and the data behind it is not read", async () => {
  const { secret } = await createKey({ user: await createUser(), surface: "user" })
  const upgrade = `GET /api/v1/me HTTP/1.1\r\nx-api-key: ${secret}\r\nUpgrade: websocket`
  expect(await raw(upgrade)).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
  const request = `${upgrade}\r\nConnection: Upgrade\r\nHost: localhost\r\n\r\n`
  const response = await send(request, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
  expect(statuses(response)).toEqual(["200"])
  expect(response).toMatch(/\r\nConnection: close\r\n/)
})

test.each([
  ["400 Bad Request", "bad_request", "a message that is not HTTP", ["hello\r\n\r\n"]],
  ["400 Bad Request", "bad_request", "NUL in a header", ["GET / HTTP/1.1\r\nHost: a\r\nX-A: \0\r\n\r\n"]],
  [
    "400 Bad Request",
    "bad_request",
    "an invalid chunk, in a body that a route reads",
    ["POST /slow HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", "zz\r\n"],
  ],
  [
    "431 Request Header Fields Too Large",
    "headers_too_large",
    "request headers above 16 KiB",
    [`GET / HTTP/1.1\r\nX-Long: ${"x".repeat(17_000)}\r\n\r\n`],
  ],
  [
    "413 Payload Too Large",
    "payload_too_large",
    "a chunk extension of 20 KB",
    [
      "POST /slow HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
      `1;a=${"x".repeat(20_000)}\r\na\r\n0\r\n\r\n`,
    ],
  ],
])("returns %s in the envelope, with the code %s, for %s", async (status, code, _name, parts) => {
  expect(await send(...parts)).toMatch(refusal(status, code))
})

test("an invalid request is refused once, after the responses to all requests before it", async () => {
  const slow = "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n"
  const received = send(slow, slow, "nonsense\r\n\r\n", "more\r\n\r\n")
  await expect.poll(() => finish.length).toBe(2)
  for (const respond of finish) respond()
  expect(statuses(await received)).toEqual(["200", "200", "400"])
})

test("a malformed body after the response causes no second response", async () => {
  const start = "POST /any HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
  const socket = connect(port, "127.0.0.1")
  socket.write(start)
  await once(socket, "readable")
  socket.write("zz\r\n")
  expect(statuses(await text(socket))).toEqual(["200"])
})

test.each(["application/json", "text/plain"])(
  "a client that keeps sending %s gets its response early, with Connection: close",
  async (type) => {
    const { secret } = await createKey({ user: await createUser(), surface: "user" })
    const headers = `Host: a\r\nx-api-key: ${secret}\r\nContent-Type: ${type}\r\n`
    const chunk = `30d40\r\n${"a".repeat(200_000)}\r\n`
    const response = await send(
      `POST /api/v1/me/run HTTP/1.1\r\n${headers}Transfer-Encoding: chunked\r\n\r\n`,
      ...Array.from({ length: 20 }, () => chunk),
      `0\r\n\r\nGET /api/v1/me HTTP/1.1\r\n${headers}\r\n`,
    )
    expect(statuses(response)).toEqual([type === "text/plain" ? "400" : "413"])
    expect(response).toMatch(/\r\nconnection: close\r\n/i)
  },
)

test("a connection that pipelines more than 32 requests is closed, and only the first 32 are handled", async () => {
  const received = await send("GET /_next/slow HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(1_000))
  expect(received).toBe("")
  expect(finish).toHaveLength(32)
})

test("an idle connection is reset even while a response is pending, so that the response does not look complete", async () => {
  expect(server.timeout).toBe(60_000)
  server.timeout = 50
  await expect(send("GET /slow HTTP/1.0\r\n\r\n")).rejects.toMatchObject({ code: "ECONNRESET" })
})

test("a client that keeps sending also gets a stream", async () => {
  const user = await createUser()
  await createOrder({ userId: user.id })
  const { secret } = await createKey({ user, surface: "user" })
  const headers = `Host: a\r\nx-api-key: ${secret}\r\nAccept: text/csv\r\nContent-Length: 9\r\n\r\nhalf`
  const response = await send(`GET /api/v1/me/orders HTTP/1.1\r\n${headers}`)
  expect(response).toMatch(/\r\ncontent-type: text\/csv; charset=utf-8\r\n/)
  expect(response).toMatch(new RegExp(`\r\nid,userId,.*\r\n[0-9a-f-]{36},${user.id},.*\r\n\r\n0\r\n\r\n$`))
})

test("a body reaches the route with any framing", async () => {
  const { secret } = await createKey({ user: await createUser(), surface: "user" })
  const start = `POST /api/v1/me/run HTTP/1.1\r\nx-api-key: ${secret}\r\nHost: localhost\r\nConnection: close\r\n`
  for (const rest of [
    "Content-Length: 2\r\n\r\n[]",
    "Transfer-Encoding: chunked\r\n\r\n1\r\n[\r\n1\r\n]\r\n0\r\n\r\n",
  ]) {
    expect(await send(start + rest)).toContain("must be a JSON object")
  }
})

test("a body is read up to its limit, with or without a Content-Length", async () => {
  const { secret } = await createKey({ user: await createUser(), surface: "user" })
  const body = "a".repeat(1_000_000)
  for (const framed of [body, Readable.from([body])]) {
    const init = {
      method: "POST",
      headers: { "x-api-key": secret, "content-type": "application/json" },
      body: framed,
      duplex: "half",
    } as RequestInit
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/me/run`, init)
    expect([response.status, (await response.json()).error.code]).toEqual([413, "payload_too_large"])
  }
})

test("a connection is kept open for the next request, for longer than proxies keep it", async () => {
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

test("an incomplete request is closed with a 408", async () => {
  expect([server.headersTimeout, server.requestTimeout]).toEqual([10_000, 30_000])
  // These timeouts are too long for a test, so it checks that shorter ones take effect.
  server.headersTimeout = 50
  server.requestTimeout = 100
  for (const incomplete of [
    "GET /api/v1/me HT",
    "POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf",
  ]) {
    expect(await send(incomplete)).toMatch(refusal("408 Request Timeout", "request_timeout"))
  }
})

test.each(["localhost:99999", "1.2.3.999", "[:::::]", "xn--a", "a b", "", "x".repeat(8_000)])(
  "the API accepts the host %s",
  async (host) => {
    const { secret } = await createKey({ user: await createUser(), surface: "user" })
    const headers = `Host: ${host}\r\nx-api-key: ${secret}\r\nConnection: close\r\n\r\n`
    expect(await send(`GET /api/v1/me/credits?limit=1 HTTP/1.1\r\n${headers}`)).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
  },
)

test.each([
  ["nothing", ""],
  ["half of its request headers", "GET /api/v1/me HTTP/1.1\r\nHost:"],
  [
    "half a body of a request that has been refused",
    "POST /api/v1/me/run HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{",
  ],
])("shutdown does not wait for a client that sends %s", async (_name, sent) => {
  const socket = connect(port, "127.0.0.1")
  await once(socket, "connect")
  socket.write(sent)
  const ended = text(socket)
  // Once another request has its response, this one has arrived.
  await text(await open("/"))
  await close()
  await ended
})

test("shutdown finishes pending requests, closes idle connections and accepts no new ones", async () => {
  const agent = new Agent({ keepAlive: true })
  const completed = await open("/", agent)
  const idle = completed.socket
  await text(completed)
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

  for (const respond of finish) respond()
  const [response] = await slow
  expect(await text(response)).toBe("Next: /slow")
  await closing
})
