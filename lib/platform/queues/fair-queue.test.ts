import { setImmediate as nextTurn } from "node:timers/promises"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { fairQueue } from "./fair-queue"

let started: string[]
let refused: string[]
/** Ends the running tasks, oldest first. */
let running: (() => void)[]

beforeEach(() => {
  started = []
  refused = []
  running = []
})
afterEach(() => vi.useRealTimers())

function queue(bounds: Partial<Parameters<typeof fairQueue>[0]> = {}) {
  return fairQueue({ maxRunning: 2, maxWaiting: 64, maxWaitMs: 10_000, ...bounds })
}

/** Adds tasks. A task is its client and a number; a client in lower case is known. */
async function add(enter: ReturnType<typeof fairQueue>, ...tasks: string[]): Promise<void> {
  for (const task of tasks) {
    const id = task.replace(/\d+$/, "")
    enter({ id, isKnown: id === id.toLowerCase() }).then((leave) => {
      if (!leave) return refused.push(task)
      running.push(leave)
      return started.push(task)
    })
  }
  await nextTurn()
}

async function endOldest(): Promise<void> {
  running.shift()?.()
  await nextTurn()
}

async function endAll(): Promise<void> {
  while (running.length > 0) await endOldest()
}

const many = (client: string, count: number) => Array.from({ length: count }, (_, index) => `${client}${index + 1}`)

/** A task of each of forty clients. */
const forty = Array.from({ length: 40 }, (_, index) => `A${index}-1`)

test("sixteen tasks of one client delay that of another by less than one task", async () => {
  const enter = queue()
  await add(enter, ...many("A", 16))
  await add(enter, "B1")
  expect(started).toEqual(["A1", "A2"])
  await endOldest()
  expect(started).toEqual(["A1", "A2", "B1"])
  await endAll()
  expect(started).toHaveLength(17)
})

test("clients take turns, and the tasks of each start in their order", async () => {
  await add(queue(), ...many("A", 5), ...many("B", 3), "C1")
  await endAll()
  expect(started).toEqual(["A1", "A2", "B1", "A3", "C1", "B2", "A4", "B3", "A5"])
})

test("two tasks run at once, also after one ended or was refused", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
  const enter = queue()
  await add(enter, ...many("A", 4))
  vi.advanceTimersByTime(10_000)
  await add(enter, ...many("B", 4))
  expect([started, refused]).toEqual([
    ["A1", "A2"],
    ["A3", "A4"],
  ])
  await endOldest()
  expect(running).toHaveLength(2)
  await endAll()
  expect(started).toEqual(["A1", "A2", ...many("B", 4)])
})

test("a task that waited too long is refused, and one that started in time is not", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
  await add(queue(), "A1", "A2", "A3", "B1")
  vi.advanceTimersByTime(9_999)
  await endOldest()
  expect([started, refused]).toEqual([["A1", "A2", "B1"], []])
  vi.advanceTimersByTime(1)
  await endAll()
  expect([started, refused]).toEqual([["A1", "A2", "B1"], ["A3"]])
})

test("when too many tasks wait, the client with the most loses its last one", async () => {
  // Of clients with equally many, the last one loses here.
  vi.spyOn(Math, "random").mockReturnValue(0.99)
  const enter = queue({ maxWaiting: 3 })
  await add(enter, ...many("A", 6))
  expect(refused).toEqual(["A6"])
  await add(enter, "B1")
  expect(refused).toEqual(["A6", "A5"])
  await add(enter, "C1")
  expect(refused).toEqual(["A6", "A5", "A4"])
  await add(enter, "D1", "E1")
  expect(refused).toEqual(["A6", "A5", "A4", "D1", "E1"])
  await endAll()
  expect(started).toEqual(["A1", "A2", "B1", "A3", "C1"])
})

test("a known client goes before forty others that wait", async () => {
  const enter = queue()
  await add(enter, ...forty, "k1")
  await endOldest()
  expect(started).toEqual(["A0-1", "A1-1", "k1"])
  await endAll()
  expect([started.length, refused]).toEqual([41, []])
})

test("known clients take turns, also with the others while a known one is running", async () => {
  await add(queue(), ...many("k", 4), ...many("A", 3), "m1", "B1")
  await endAll()
  expect(started).toEqual(["k1", "k2", "A1", "k3", "m1", "B1", "k4", "A2", "A3"])
})

test("known clients and others are not refused because of each other", async () => {
  const enter = queue({ maxWaiting: 3 })
  await add(enter, ...many("A", 5), ...many("k", 3))
  expect(refused).toEqual([])
  await add(enter, "B1")
  expect(refused).toEqual(["A5"])
  await add(enter, "m1")
  expect(refused).toEqual(["A5", "k3"])
  await endAll()
  expect(started).toHaveLength(8)
})
