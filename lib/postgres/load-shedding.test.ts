import { afterEach, expect, test, vi } from "vitest"
import { isOverloaded } from "./load-shedding"
import { pool } from "./pool"

process.env.DATABASE_POOL_MAX = "1"

afterEach(() => vi.restoreAllMocks())

function laterBy(ms: number): void {
  const now = performance.now()
  vi.spyOn(performance, "now").mockReturnValue(now + ms)
}

test("nobody else is let in once somebody has waited for a second behind a full pool, until the wait is over", async () => {
  const taken = await pool().connect()
  const waiting = pool().query("SELECT 1")
  expect(isOverloaded()).toBe(false)
  laterBy(1_001)
  expect(isOverloaded()).toBe(true)
  taken.release()
  await waiting
  expect(isOverloaded()).toBe(false)
})

test("who has given up waits no more", async () => {
  const taken = await pool().connect()
  const waiting = pool().connect()
  await expect(waiting).rejects.toThrow("timeout exceeded when trying to connect")
  laterBy(1_001)
  expect(isOverloaded()).toBe(false)
  taken.release()
})

test("a connection that is being made is no line: of a database that is slow or away others say so", async () => {
  const first = await pool().connect()
  first.release(true)
  const connecting = pool().connect()
  laterBy(1_001)
  expect(isOverloaded()).toBe(false)
  const client = await connecting
  client.release()
})
