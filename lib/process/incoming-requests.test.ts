import { once } from "node:events"
import { createServer, type RequestListener } from "node:http"
import { type AddressInfo, connect } from "node:net"
import { text } from "node:stream/consumers"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { socketAddressHeader } from "@/lib/platform/rate-limit/client-address"
import { createRun, createUser, grantCredits } from "@/tests/support/factories"
import { watchRequests } from "./incoming-requests"
import { jobs, startSweeper } from "./sweeper"

/** Responds with the request as a handler receives it. */
const echo: RequestListener = ({ url, headers }, response) => {
  response.end(JSON.stringify({ url, address: headers[socketAddressHeader], rsc: headers.rsc }))
}
const server = createServer(echo)

beforeAll(async () => {
  watchRequests()
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
})

afterAll(() => {
  server.close()
})

/** Sends the request target verbatim, which client libraries do not. */
async function received(target: string, method = "GET") {
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1")
  socket.write(`${method} ${target} HTTP/1.1\r\nHost: localhost\r\nRSC: 1\r\nConnection: close\r\n\r\n`)
  const response = await text(socket)
  return JSON.parse(/\{.*\}/.exec(response)?.[0] ?? response)
}

test.each(["/", "/api/v1/me", "/docs?a=%zz", "/a%20b", "/%C3%A9", "/a//b"])(
  "the path %s reaches the handler unchanged",
  async (target) => {
    expect(await received(target)).toMatchObject({ url: target, address: "127.0.0.1" })
  },
)

test.each([
  ["/api/../sign-in", "/sign-in"],
  ["/api/%2e%2E/docs/admin?a=/../b", "/docs/admin?a=/../b"],
  ["/./docs/./admin", "/docs/admin"],
  ["/_next/static/.%2e/../docs/admin#x", "/docs/admin"],
  ["/docs/admin#/..?a", "/docs/admin"],
  ["/../../x/..", "/"],
])("%s is resolved before any decision by the path", async (target, url) => {
  expect(await received(target)).toMatchObject({ url, address: "127.0.0.1" })
})

test.each([
  "/api/v1/%zz",
  "/%ff",
  "/admin/users/%E0%A4%A",
  "//evil.example/api/v1/me",
  "/x/..//evil.example",
  "/_next/data/build/docs/admin.json",
  "/x/../_next/d%61ta/build/sign-in.json",
  "http://evil.example/api/v1/me",
  "https://evil.example//x",
])("%s, an invalid path, is replaced by a path without a route", async (target) => {
  expect(await received(target)).toMatchObject({ url: "/api/unreadable", address: "127.0.0.1" })
})

test("the target * of OPTIONS is replaced by a path without a route", async () => {
  expect(await received("*", "OPTIONS")).toMatchObject({ url: "/api/unreadable" })
})

test("React Server Component headers are removed from API requests only", async () => {
  expect(await received("/api/v1/me")).not.toHaveProperty("rsc")
  expect(await received("/docs")).toHaveProperty("rsc", "1")
})

test("the sweeper releases an overdue reservation and folds the daily changes", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] })
  const { id: userId } = await createUser()
  await grantCredits(userId, 10)
  const { id } = await createRun({ userId, expiresAt: new Date(Date.now() - 60_000) })
  startSweeper()
  startSweeper()
  expect(vi.getTimerCount()).toBe(Object.keys(jobs).length)
  vi.advanceTimersByTime(10_000)
  vi.useRealTimers()
  await expect.poll(async () => (await db().run.findUniqueOrThrow({ where: { id } })).state).toBe("expired")
  const unfolded = async () => (await pool().query("SELECT FROM daily_changes WHERE series = 'users'")).rowCount
  await expect.poll(unfolded).toBe(0)
})
