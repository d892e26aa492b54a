import { waits } from "./waits"

/** The part of an AbortSignal that waiting needs. Node takes 5 to 12 µs to create one, and requests rarely wait. */
export type Signal = {
  readonly aborted: boolean
  readonly reason: unknown
  throwIfAborted(): void
  addEventListener(type: "abort", listener: () => void): void
  removeEventListener(type: "abort", listener: () => void): void
}

export type WithinDeadline = <Outcome>(work: (signal: Signal) => Promise<Outcome>) => Promise<Outcome>

/**
 * For all database work of a request together, because the pool's timeouts apply to each wait alone. Work that exceeds
 * it continues, and its result is ignored.
 */
export function databaseDeadline(): WithinDeadline {
  let remainingMs = waits().request
  return async (work) => {
    const start = performance.now()
    const deadline = new Deadline()
    let timer: NodeJS.Timeout | undefined
    const timeout = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const message = "The database took longer than one request may wait for it."
        // The code of a connection timeout, so that the response is the same 503.
        const error = Object.assign(new Error(message), { code: "ETIMEDOUT" })
        reject(error)
        deadline.abort(error)
      }, remainingMs)
    })
    try {
      return await Promise.race([work(deadline), timeout])
    } finally {
      clearTimeout(timer)
      remainingMs -= performance.now() - start
    }
  }
}

class Deadline implements Signal {
  aborted = false
  reason: unknown
  readonly #listeners = new Set<() => void>()

  abort(reason: unknown): void {
    this.aborted = true
    this.reason = reason
    for (const listener of this.#listeners) listener()
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason
  }

  addEventListener(_type: "abort", listener: () => void): void {
    this.#listeners.add(listener)
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    this.#listeners.delete(listener)
  }
}
