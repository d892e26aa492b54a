import { env } from "@/lib/env"
import type { WithinDeadline } from "@/lib/platform/postgres/deadline"
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

/** Too many tasks of the client wait, or this one has waited as long as a request may wait for a connection. */
export class TooManyWaiting extends Error {
  constructor() {
    super("Too many requests of this account are in progress. Try again in 2 seconds.")
  }
}

/** `waiting`: starts each task, oldest first. */
type Queue = { running: number; waiting: Record<Kind, Set<() => void>> }

type Kind = "close" | "request"

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
  signal?: AbortSignal,
): Promise<Outcome> {
  signal?.throwIfAborted()
  const queue = queues().get(client) ?? { running: 0, waiting: { close: new Set(), request: new Set() } }
  queues().set(client, queue)
  if (queue.running < maxRunning()) queue.running++
  else await turnOf(queue, kind, signal)
  try {
    return await task()
  } finally {
    const { close, request } = queue.waiting
    const [next] = close.size > 0 ? close : request
    if (next) next()
    else if (--queue.running === 0) queues().delete(client)
  }
}

export function inTurns(client: string, withinDeadline: WithinDeadline): WithinDeadline {
  return (work) => withinDeadline((signal) => inTurn(client, "request", () => work(signal), signal))
}

function turnOf({ waiting }: Queue, kind: Kind, signal: AbortSignal | undefined): Promise<void> {
  const own = waiting[kind]
  return new Promise((resolve, reject) => {
    if (kind === "request" && own.size >= maxWaiting) return reject(new TooManyWaiting())
    const leave = () => {
      clearTimeout(timer)
      own.delete(start)
      signal?.removeEventListener("abort", abandon)
    }
    const start = () => {
      leave()
      resolve()
    }
    const giveUp = (reason: unknown) => {
      leave()
      reject(reason)
    }
    const abandon = () => giveUp(signal?.reason)
    const timer = kind === "request" ? setTimeout(giveUp, waits().overload, new TooManyWaiting()) : undefined
    own.add(start)
    signal?.addEventListener("abort", abandon)
  })
}
