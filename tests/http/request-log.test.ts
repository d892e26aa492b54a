import { once } from "node:events"
import { Agent, request } from "node:http"
import { connect } from "node:net"
import pg from "pg"
import { beforeAll, describe, expect, test } from "vitest"
import { pool } from "@/lib/platform/postgres/pool"
import { withSettings } from "@/lib/platform/postgres/settings"
import { limits } from "@/lib/platform/rate-limit/rate-limit"
import { product } from "@/lib/product"
import type { Given, Listener } from "@/scripts/build-and-serve"
import { exchange } from "@/tests/support/exchange"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { heldMbOf, printingMemory } from "@/tests/support/memory"
import { ownerUrl } from "@/tests/support/owner"
import { startRedis } from "@/tests/support/redis"
import { sampled } from "@/tests/support/sample"
import { startTestServer, stoppedClock, type TestServer } from "@/tests/support/server"
import { work } from "@/tests/support/work"

// The log of requests with keys under full load: while PostgreSQL cannot store it, and when processes end. In every
// case, the logged and the unlogged requests add up to the responses.

const METRICS_TOKEN = "a-token-of-the-test"
const perKey = limits.key.tokens

let redisUrl: string

beforeAll(async () => {
  const redis = await startRedis()
  redisUrl = redis.url
  return () => redis.stop()
})

type Key = { id: string; secret: string }

async function createKeys(count: number): Promise<Key[]> {
  const user = await createUser()
  await grantCredits(user.id, 1_000)
  const create = async () => {
    const { key, secret } = await createKey({ user, surface: "user" })
    return { id: key.id, secret }
  }
  return Promise.all(Array.from({ length: count }, create))
}

async function countLogged(keys: readonly Key[]): Promise<{ logged: number; unlogged: number }> {
  const { rows } = await pool().query<{ logged: number; unlogged: number }>(
    `SELECT (SELECT count(*)::int FROM key_requests WHERE key_id = ANY ($1)) AS logged,
            (SELECT coalesce(sum(unlogged), 0)::int FROM key_usage WHERE unit = 'day' AND key_id = ANY ($1)) AS unlogged`,
    [keys.map(({ id }) => id)],
  )
  return rows[0] ?? expect.fail()
}

/** Sends as many requests with each key as its limit allows, two keys at a time. @returns the statuses */
async function exhaust({ port }: TestServer, keys: readonly Key[], headers: Record<string, string>): Promise<string[]> {
  const waiting = [...keys]
  const statuses: string[] = []
  const worker = async () => {
    for (let key = waiting.pop(); key; key = waiting.pop()) statuses.push(...(await pipeline(port, key, headers)))
  }
  await Promise.all([worker(), worker()])
  return statuses
}

/** Sends the requests of one key over one connection, 15 at a time: no client library is as fast. */
async function pipeline(port: number, { secret }: Key, headers: Record<string, string>): Promise<string[]> {
  const lines = Object.entries({ host: "localhost", "x-api-key": secret, ...headers }).map((field) => field.join(": "))
  const request = ["GET /api/v1/me HTTP/1.1", ...lines, "", ""].join("\r\n")
  const statuses: string[] = []
  let rest = ""
  const socket = connect(port, "127.0.0.1").setEncoding("latin1")
  for (let sent = 0; sent < perKey; sent += 15) {
    socket.write(request.repeat(15))
    while (statuses.length < sent + 15) {
      const [chunk] = await once(socket, "data")
      rest += chunk
      statuses.push(...[...rest.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status = ""]) => status))
      // Shorter than a match, so nothing is counted twice.
      rest = rest.slice(-12)
    }
  }
  socket.destroy()
  return statuses
}

async function unloggedMetric({ address }: TestServer): Promise<number> {
  const response = await fetch(`${address}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } })
  return Number(new RegExp(`^${product.slug}_requests_unlogged_total (\\d+)$`, "m").exec(await response.text())?.[1])
}

test("while the log is locked, no response fails, memory is bounded, and every dropped request is counted", {
  tags: ["long"],
  timeout: 300_000,
}, async () => {
  const NODE_OPTIONS = `${stoppedClock()} ${printingMemory}`
  const server = await startTestServer("lean", { METRICS_TOKEN, LOG_LEVEL: "silent", NODE_OPTIONS })
  // Together almost the maximum size of headers: the entries in memory must not keep them.
  const headers = {
    "user-agent": `agent ${"x".repeat(7_000)}`,
    "x-forwarded-for": `${"192.0.2.1, ".repeat(640)}203.0.113.100`,
  }
  await exhaust(server, await createKeys(10), headers)
  const before = await heldMbOf(server)

  const keys = await createKeys(36)
  const holder = new pg.Client(withSettings(ownerUrl()))
  await holder.connect()
  try {
    await holder.query("BEGIN; LOCK TABLE key_requests IN ACCESS EXCLUSIVE MODE")
    const statuses = await exhaust(server, keys, headers)
    expect(statuses.filter((status) => status !== "200")).toEqual([])
    expect(statuses).toHaveLength(keys.length * perKey)
  } finally {
    await holder.end()
  }
  const after = await heldMbOf(server)
  const total = async () => {
    const { logged, unlogged } = await countLogged(keys)
    return logged + unlogged
  }
  await expect.poll(total).toBe(keys.length * perKey)
  const { logged, unlogged } = await countLogged(keys)
  expect(await unloggedMetric(server)).toBe(unlogged)
  await server.stop()
  console.log(
    `While the log was locked: ${before.toFixed(0)} MB before, ${after.toFixed(0)} MB after; ${logged} logged later, ${unlogged} unlogged`,
  )
  expect(unlogged).toBeGreaterThan(0)
  expect(after - before).toBeLessThan(60)
})

describe("on SIGTERM every response that a client receives is in the log", () => {
  type Arrangement = [name: string, Listener, () => Given, exitCode: number]
  const one: Arrangement = ["the product's listener", "lean", () => ({}), 0]
  const two: Arrangement = [
    "two processes of the product's listener",
    "lean",
    () => ({ WEB_CONCURRENCY: "2", REDIS_URL: redisUrl }),
    0,
  ]
  const next: Arrangement = ["Next alone", "next", () => ({}), 143]

  test.each(sampled([one, two, next]))("under load, %s", { timeout: 180_000 }, async (_, listener, given, exitCode) => {
    const server = await startTestServer(listener, { LOG_LEVEL: "silent", ...given() })
    const keys = await createKeys(40)
    let received = 0
    let stopped: Promise<void> | undefined
    const connection = async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      // The product's listener closes the connections. Next serves them until its clients close them.
      while (listener === "lean" || !stopped) {
        const headers = { "x-api-key": keys[received % keys.length]?.secret ?? "" }
        const response = await exchange(`${server.address}/api/v1/me`, { headers }, 15_000, agent)
        if (!response) break
        expect(response.status).toBe(200)
        received++
        if (received === 1_000) stopped = server.stop()
      }
      agent.destroy()
    }
    await Promise.all(Array.from({ length: 24 }, connection))
    expect(await server.exited).toBe(exitCode)
    expect(received).toBeGreaterThanOrEqual(1_000)
    expect(await countLogged(keys)).toEqual({ logged: received, unlogged: 0 })
  })

  test.each([one, two, next])(
    "for a request that ends after all others were written, %s",
    async (_, listener, given, exitCode) => {
      const server = await startTestServer(listener, { LOG_LEVEL: "silent", ...given() })
      const [key = expect.fail()] = await createKeys(1)
      const sent = request(server.address + work.path, {
        method: "POST",
        headers: { "x-api-key": key.secret, "content-type": "application/json", expect: "100-continue" },
        agent: false,
      })
      sent.flushHeaders()
      await once(sent, "continue")
      const stopped = server.stop()
      await expect.poll(() => connects(server)).toBe(false)
      sent.end(work.body)
      const [response] = await once(sent, "response")
      expect(response.statusCode).toBe(200)
      response.resume()
      await stopped
      expect(await server.exited).toBe(exitCode)
      expect(await countLogged([key])).toEqual({ logged: 1, unlogged: 0 })
    },
  )
})

async function connects({ port }: TestServer): Promise<boolean> {
  const socket = connect(port, "127.0.0.1")
  const isConnected = await once(socket, "connect").then(
    () => true,
    () => false,
  )
  socket.destroy()
  return isConnected
}
