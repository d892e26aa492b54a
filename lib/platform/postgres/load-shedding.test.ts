import { once } from "node:events"
import { afterEach, expect, test, vi } from "vitest"
import { env } from "@/lib/env"
import { singletons } from "@/lib/singleton"
import { isOverloaded } from "./load-shedding"
import { pool } from "./pool"

Object.assign(env(), { DATABASE_POOL_MAX: 1, DATABASE_WAIT_MS: 2_400 })
delete singletons.pool

afterEach(() => vi.restoreAllMocks())

function advanceClock(ms: number): void {
  const now = performance.now()
  vi.spyOn(performance, "now").mockReturnValue(now + ms)
}

test("new requests are refused once a request has waited a second for a connection, until it gets one", async () => {
  const client = await pool().connect()
  const waiting = pool().query("SELECT 1")
  expect(isOverloaded()).toBe(false)
  advanceClock(1_001)
  expect(isOverloaded()).toBe(true)
  client.release()
  await waiting
  expect(isOverloaded()).toBe(false)
})

test("a wait that times out no longer counts", async () => {
  const client = await pool().connect()
  const waiting = pool().connect()
  await expect(waiting).rejects.toThrow("timeout exceeded when trying to connect")
  advanceClock(1_001)
  expect(isOverloaded()).toBe(false)
  client.release()
})

test("waiting for a new connection to open does not count as overload", async () => {
  const first = await pool().connect()
  first.release(true)
  const connecting = pool().connect()
  advanceClock(1_001)
  expect(isOverloaded()).toBe(false)
  const client = await connecting
  client.release()
})

test("a wait no longer counts once the pool opens a connection for it", async () => {
  const broken = await pool().connect()
  const waiting = pool().connect()
  broken.release(true)
  await once(pool(), "remove")
  advanceClock(1_001)
  expect(isOverloaded()).toBe(false)
  const next = pool().connect()
  expect(isOverloaded()).toBe(false)
  for (const connecting of [waiting, next]) (await connecting).release()
})
