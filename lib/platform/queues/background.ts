import { setTimeout as wait } from "node:timers/promises"
import { isDatabaseUnavailable } from "@/lib/platform/postgres/failures"
import { log } from "@/lib/platform/telemetry/log"
import { singleton } from "@/lib/singleton"

// Work that responses do not wait for. Each lane does one piece after the other, so that it leaves connections and CPU
// for requests, and so that slow work of one lane does not delay another.

type Work = () => Promise<void>

/** `due`: when the work may start, on the clock of `performance.now`. */
type Lane = { waiting: { work: Work; due: number }[]; working?: Promise<void> | undefined }

/** Bounds the memory of a lane. */
const maxWaiting = 500

/** Later than the response to the request that adds the work, so that its time does not depend on the work. */
const startAfterMs = 100

const retryAfterMs = 1_000

/** How long a shutdown waits. */
const drainMs = 5_000

function state() {
  return singleton("background", () => ({ lanes: new Map<string, Lane>(), isDraining: false }))
}

function laneOf(name: string): Lane {
  const { lanes } = state()
  const lane = lanes.get(name) ?? { waiting: [] }
  lanes.set(name, lane)
  return lane
}

export function isLaneFull(name: string): boolean {
  return laneOf(name).waiting.length >= maxWaiting
}

/**
 * Does `work` in a lane, after what waits there. While the database is unavailable the lane waits and tries the same work
 * again; other errors are logged. A process that is killed loses what waits.
 */
export function inBackground(name: string, work: Work): void {
  const lane = laneOf(name)
  lane.waiting.push({ work, due: performance.now() + startAfterMs })
  lane.working ??= workOff(name, lane)
}

async function workOff(name: string, lane: Lane): Promise<void> {
  const { waiting } = lane
  for (let next = waiting[0]; next; next = waiting[0]) {
    await wait(Math.max(0, next.due - performance.now()))
    try {
      await next.work()
    } catch (error) {
      log().error({ lane: name, why: String(error) }, "background_work_failed")
      if (isDatabaseUnavailable(error)) {
        await wait(retryAfterMs)
        continue
      }
    }
    waiting.shift()
  }
  // Not later than the last look, or work that is added in between would wait for more.
  lane.working = undefined
}

/** Finishes all lanes, before the process exits; `finishIfExiting` finishes what is added from now on. */
export function drainBackground(): Promise<void> {
  state().isDraining = true
  return finishBackground()
}

/** What a response waits for after it has added work: nothing, except during a shutdown. */
export async function finishIfExiting(): Promise<void> {
  if (state().isDraining) await finishBackground()
}

/** Waits until all lanes are empty, for a limited time. */
export async function finishBackground(): Promise<void> {
  const isDone = await Promise.race([finish(), wait(drainMs, false, { ref: false })])
  const lost = [...state().lanes.values()].reduce((sum, { waiting }) => sum + waiting.length, 0)
  if (!isDone) log().error({ lost }, "background_work_lost")
}

/** Looks again after each round, because work may add work to another lane, and lanes. */
async function finish(): Promise<true> {
  const working = () => [...state().lanes.values()].flatMap((lane) => lane.working ?? [])
  for (let left = working(); left.length > 0; left = working()) await Promise.all(left)
  return true
}
