import type { Pool } from "pg"
import { singleton } from "@/lib/singleton"
import { waits } from "./waits"

export const overloaded = {
  message: "The server is overloaded. Try again in 2 seconds.",
  headers: { "Retry-After": "2" },
} as const

type Wait = { since: number; pool: Pick<Pool, "waitingCount"> }

/** Oldest first. */
function connectionQueue(): Set<Wait> {
  return singleton("connection-queue", () => new Set())
}

export function enterConnectionQueue(pool: Wait["pool"]): () => void {
  const wait = { since: performance.now(), pool }
  connectionQueue().add(wait)
  return () => connectionQueue().delete(wait)
}

/** A refusal now costs almost nothing; an admitted request would wait, time out and waste its work. */
export function isOverloaded(): boolean {
  const queue = [...connectionQueue()]
  // The pool serves its queue in order. The first waits may have left it: a connection is being opened for each of
  // them, which may hang while other connections work.
  const opening = queue.length - (queue[0]?.pool.waitingCount ?? 0)
  const oldest = queue[opening]
  return oldest !== undefined && performance.now() - oldest.since > waits().overload
}
