import { env } from "@/lib/env"
import type { Signal, WithinDeadline } from "@/lib/platform/postgres/deadline"
import { waits } from "@/lib/platform/postgres/waits"
import { singleton } from "@/lib/singleton"

// Without turns, one account could hold all connections of the pool, with slow reads or with runs that wait for the lock
// on its row, and the requests of all others would wait.

/** In one process. The tasks of two clients leave connections to others. */
export function maxRunning(): number {
  return Math.max(1, Math.floor(env().DATABASE_POOL_MAX / 3))
}

/** Per client and process. */
export const maxWaiting = 200

/**
 * Too many tasks of the client wait, or this one has waited as long as a request may wait for a connection. One class in
 * the process, because a queue rejects with the class of the bundle that made the queue.
 */
export const TooManyWaiting = singleton(
  "too-many-waiting",
  () =>
    class TooManyWaiting extends Error {
      constructor() {
        super("Too many requests of this account are in progress. Try again in 2 seconds.")
      }
    },
)

type Queue = { running: number; waiting: WaitingLine }

type Kind = "close" | "request"

/** The tasks of one client that wait, oldest first. Tasks that close runs go before all others and are never refused. */
export class WaitingLine {
  private readonly waiting: Record<Kind, Set<() => void>> = { close: new Set(), request: new Set() }

  get isEmpty(): boolean {
    return this.waiting.close.size + this.waiting.request.size === 0
  }

  /**
   * Calls either `start`, once the task is next, or `giveUp`, with TooManyWaiting or the reason of the signal.
   * @param maxMs the longest wait of a task that closes no run; by default, only the signal limits it
   */
  add(kind: Kind, start: () => void, giveUp: (reason: unknown) => void, signal?: Signal, maxMs?: number): void {
    const own = this.waiting[kind]
    if (kind === "request" && own.size >= maxWaiting) {
      giveUp(new TooManyWaiting())
      return
    }
    const leave = () => {
      clearTimeout(timer)
      own.delete(leaveAndStart)
      signal?.removeEventListener("abort", abandon)
    }
    const leaveAndStart = () => {
      leave()
      start()
    }
    const leaveWith = (reason: unknown) => {
      leave()
      giveUp(reason)
    }
    const abandon = () => leaveWith(signal?.reason)
    const timeOut = () => leaveWith(new TooManyWaiting())
    const timer = kind === "request" && maxMs !== undefined ? setTimeout(timeOut, maxMs) : undefined
    own.add(leaveAndStart)
    signal?.addEventListener("abort", abandon)
  }

  /** Starts the next task. @returns whether there was one */
  startNext(): boolean {
    const { close, request } = this.waiting
    const [next] = close.size > 0 ? close : request
    next?.()
    return next !== undefined
  }
}

function queues(): Map<string, Queue> {
  return singleton("turns", () => new Map())
}

/**
 * Waits without a connection. Tasks that close runs go first and are never refused, because the work is done and its
 * reservation expires. A task must not wait for another turn of its client.
 * @param client the id of an account, or an address
 * @param signal aborts the wait: the task never runs, and the promise rejects with the signal's reason
 * @throws TooManyWaiting
 */
export async function inTurn<Outcome>(
  client: string,
  kind: Kind,
  task: () => Promise<Outcome>,
  signal?: Signal,
): Promise<Outcome> {
  signal?.throwIfAborted()
  const queue = queues().get(client) ?? { running: 0, waiting: new WaitingLine() }
  queues().set(client, queue)
  if (queue.running < maxRunning()) queue.running++
  else await new Promise<void>((resolve, reject) => queue.waiting.add(kind, resolve, reject, signal, waits().overload))
  try {
    return await task()
  } finally {
    if (!queue.waiting.startNext() && --queue.running === 0) queues().delete(client)
  }
}

export function inTurns(client: string, withinDeadline: WithinDeadline): WithinDeadline {
  return (work) => withinDeadline((signal) => inTurn(client, "request", () => work(signal), signal))
}
