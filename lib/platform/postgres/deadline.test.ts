import { expect, test, vi } from "vitest"
import { env } from "@/lib/env"
import { databaseDeadline } from "./deadline"
import { isDatabaseUnavailable } from "./failures"

env().DATABASE_WAIT_MS = 2_400

test("the waits of one request share its time limit, and exceeding it counts as an unavailable database", async () => {
  vi.useFakeTimers()
  try {
    const withinDeadline = databaseDeadline()
    const after = (ms: number) => () => new Promise<string>((done) => setTimeout(done, ms, "done"))
    const first = withinDeadline(after(1_500))
    await vi.advanceTimersByTimeAsync(1_500)
    expect(await first).toBe("done")
    // Time between the waits, such as reading the request body, does not count.
    await vi.advanceTimersByTimeAsync(20_000)
    const second = withinDeadline(after(1_500)).catch((error) => error)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(isDatabaseUnavailable(await second)).toBe(true)
  } finally {
    vi.useRealTimers()
  }
})

test("work that fails within the time limit rejects with its own error", async () => {
  await expect(databaseDeadline()(() => Promise.reject(new Error("its own")))).rejects.toThrow("its own")
})

test("work that waits is told that the time is up, unless it no longer listens", async () => {
  vi.useFakeTimers()
  try {
    const told: string[] = []
    const ended = databaseDeadline()((signal) => {
      const stopped = () => told.push("stopped")
      signal.addEventListener("abort", stopped)
      signal.removeEventListener("abort", stopped)
      signal.addEventListener("abort", () => told.push(String(signal.aborted)))
      return new Promise(() => {})
    }).catch((error) => error)
    await vi.advanceTimersByTimeAsync(2_400)
    expect([isDatabaseUnavailable(await ended), told]).toEqual([true, ["true"]])
  } finally {
    vi.useRealTimers()
  }
})
