import type { OwnerId } from "@/lib/accounts/owner"
import { singleton } from "@/lib/singleton"

// Every statement that reserves credits or closes a run locks the row of its account. Without a queue, a dozen runs of
// one account would hold all connections of the pool while they wait for one lock, and everybody else would wait.

/** Of one account in one process: while one holds the lock, another one waits for it. */
const maxRunning = 2

/** New runs of an account are refused while so many of its runs wait to be reserved in one process. */
export const maxWaiting = 200

/** `waiting`: what starts each task, oldest first. Tasks wait only while `maxRunning` are running. */
type Queue = { running: number; waiting: Record<Kind, Set<() => void>> }

type Kind = "close" | "reserve"

/** The queues of accounts with a running task. */
function queues(): Map<OwnerId, Queue> {
  return singleton("account-queues", () => new Map())
}

/**
 * Runs a task that locks the account's row once fewer than two are running; until then it waits without a connection.
 * Tasks that close runs go first, because the work is done and its reservation expires; others run in their order.
 * @param signal aborts the wait: the task then never runs, and the promise rejects with the signal's reason
 */
export async function inTurn<Outcome>(
  account: OwnerId,
  kind: Kind,
  task: () => Promise<Outcome>,
  signal?: AbortSignal,
): Promise<Outcome> {
  signal?.throwIfAborted()
  const queue = queues().get(account) ?? { running: 0, waiting: { close: new Set(), reserve: new Set() } }
  queues().set(account, queue)
  if (queue.running < maxRunning) queue.running++
  else await turnOf(queue.waiting[kind], signal)
  try {
    return await task()
  } finally {
    const { close, reserve } = queue.waiting
    const [next] = close.size > 0 ? close : reserve
    if (next) next()
    else if (--queue.running === 0) queues().delete(account)
  }
}

/** Waits until a task that ends passes its place on. */
function turnOf(waiting: Set<() => void>, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      waiting.delete(start)
      signal?.removeEventListener("abort", abandon)
    }
    const abandon = () => {
      leave()
      reject(signal?.reason)
    }
    const start = () => {
      leave()
      resolve()
    }
    waiting.add(start)
    signal?.addEventListener("abort", abandon)
  })
}

/** Whether new runs of the account should be refused: they would wait, time out and waste the work done for them. */
export function isAccountOverloaded(account: OwnerId): boolean {
  return (queues().get(account)?.waiting.reserve.size ?? 0) >= maxWaiting
}
