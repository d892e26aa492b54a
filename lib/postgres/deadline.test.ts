import { expect, test, vi } from "vitest"
import { databaseDeadline } from "./deadline"
import { isDatabaseUnavailable } from "./failures"

test("waits of one request have its time together, and what is late is answered as an absent database", async () => {
  vi.useFakeTimers()
  try {
    const withinDeadline = databaseDeadline()
    const after = (ms: number) => new Promise<string>((done) => setTimeout(done, ms, "done"))
    const first = withinDeadline(after(1_500))
    await vi.advanceTimersByTimeAsync(1_500)
    expect(await first).toBe("done")
    // What the client needs to send its body is not the database's time.
    await vi.advanceTimersByTimeAsync(20_000)
    const second = withinDeadline(after(1_500)).catch((error) => error)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(isDatabaseUnavailable(await second)).toBe(true)
  } finally {
    vi.useRealTimers()
  }
})

test("what fails in time fails as it does", async () => {
  await expect(databaseDeadline()(Promise.reject(new Error("its own")))).rejects.toThrow("its own")
})
