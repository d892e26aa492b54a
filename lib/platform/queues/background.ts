import { setTimeout as wait } from "node:timers/promises"
import { isDatabaseUnavailable } from "@/lib/platform/postgres/failures"
import { log } from "@/lib/platform/telemetry/log"
import { singleton } from "@/lib/singleton"

// Work that responses do not wait for. Each lane does one piece after the other, so that it leaves connections and CPU
// for requests, and so that slow work of one lane does not delay another.

type Work = () => Promise<void>

type Lane = { waiting: number; last: Promise<void> }

/** Bounds the memory of a lane. */
const maxWaiting = 500

/** Later than the response to the request, so that its time does not depend on the work. */
const startAfterMs = 100

const retryAfterMs = 1_000

const drainMs = 5_000

function state() {
  return singleton("background", () => ({ lanes: new Map<string, Lane>(), isDraining: false }))
}

function laneOf(name: string): Lane {
  const { lanes } = state()
  const lane = lanes.get(name) ?? { waiting: 0, last: Promise.resolve() }
  lanes.set(name, lane)
  return lane
}

export function isLaneFull(name: string): boolean {
  return laneOf(name).waiting >= maxWaiting
}

/**
 * While the database is unavailable, the lane retries the same work; other errors are logged. A killed process loses
 * the waiting work.
 */
export function inBackground(name: string, work: Work): void {
  const lane = laneOf(name)
  const due = performance.now() + startAfterMs
  lane.waiting++
  lane.last = lane.last.then(async () => {
    await wait(Math.max(0, due - performance.now()))
    while (!(await isDone(name, work))) await wait(retryAfterMs)
    lane.waiting--
  })
}

/** True also for work that cannot succeed. */
async function isDone(lane: string, work: Work): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    log().error({ lane, why: String(error) }, "background_work_failed")
    return !isDatabaseUnavailable(error)
  }
}

/** Call it before the process exits; `finishIfExiting` finishes later work. */
export function drainBackground(): Promise<void> {
  state().isDraining = true
  return finishBackground()
}

/** Responses await it after they add work, because a shutdown would lose the work. */
export async function finishIfExiting(): Promise<void> {
  if (state().isDraining) await finishBackground()
}

export async function finishBackground(): Promise<void> {
  const isFinished = await Promise.race([finish(), wait(drainMs, false, { ref: false })])
  const lost = [...state().lanes.values()].reduce((sum, { waiting }) => sum + waiting, 0)
  if (!isFinished) log().error({ lost }, "background_work_lost")
}

/** Looks again after each round, because work may add work and lanes. */
async function finish(): Promise<true> {
  const busy = () => [...state().lanes.values()].filter(({ waiting }) => waiting > 0)
  for (let lanes = busy(); lanes.length > 0; lanes = busy()) await Promise.all(lanes.map(({ last }) => last))
  return true
}
