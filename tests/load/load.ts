import { setTimeout as sleep } from "node:timers/promises"
import { isStopping } from "@/tests/support/lifecycle"

/** Sends one call and waits for its response. */
type Client = { act: () => Promise<unknown> }

/**
 * Measures calls per second with twelve concurrent calls, after a warm-up.
 * @param seconds duration of the warm-up, and of the measurement
 */
export async function measureCapacity(client: Client, seconds: number): Promise<number> {
  await workFor(seconds, client)
  return (await workFor(seconds, client)) / seconds
}

async function workFor(seconds: number, client: Client): Promise<number> {
  const deadline = Date.now() + seconds * 1_000
  let done = 0
  const worker = async () => {
    for (; Date.now() < deadline && !isStopping(); done++) await client.act()
  }
  await Promise.all(Array.from({ length: 12 }, worker))
  return done
}

/** Sends calls at a constant rate per second, however long responses take; resolves after the last response. */
export async function send(client: Client, rate: number, isOver: () => boolean): Promise<void> {
  const underWay = new Set<Promise<unknown>>()
  const since = performance.now()
  for (let sent = 0; !isOver() && !isStopping(); ) {
    for (const due = ((performance.now() - since) / 1_000) * rate; sent < due; sent++) {
      const call = client.act().finally(() => underWay.delete(call))
      underWay.add(call)
    }
    await sleep(5)
  }
  await Promise.all(underWay)
}
