import { setTimeout as sleep } from "node:timers/promises"
import { isStopping } from "@/tests/support/program"
import type { Traffic } from "./soak-clients"

/**
 * Calls a second when as many are under way as a server is busy with, once it has done everything a few times.
 * @param seconds of each: first not counted, then counted
 */
export async function measureCapacity(traffic: Traffic, seconds: number): Promise<number> {
  await workFor(seconds, traffic)
  return (await workFor(seconds, traffic)) / seconds
}

async function workFor(seconds: number, traffic: Traffic): Promise<number> {
  const end = Date.now() + seconds * 1_000
  let done = 0
  const worker = async () => {
    for (; Date.now() < end && !isStopping(); done++) await traffic.act()
  }
  await Promise.all(Array.from({ length: 12 }, worker))
  return done
}

/** Sends so many calls a second, however long the answers take; returns when the last answer is here. */
export async function send(traffic: Traffic, rate: number, isOver: () => boolean): Promise<void> {
  const underWay = new Set<Promise<unknown>>()
  const since = performance.now()
  for (let sent = 0; !isOver() && !isStopping(); ) {
    for (const due = ((performance.now() - since) / 1_000) * rate; sent < due; sent++) {
      const call = traffic.act().finally(() => underWay.delete(call))
      underWay.add(call)
    }
    await sleep(5)
  }
  await Promise.all(underWay)
}
