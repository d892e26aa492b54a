import { waits } from "./waits"

export type WithinDeadline = <Outcome>(work: (signal: AbortSignal) => Promise<Outcome>) => Promise<Outcome>

/**
 * For all database work of a request together, because the pool's timeouts apply to each wait alone. Work that exceeds
 * it continues, and its result is ignored.
 */
export function databaseDeadline(): WithinDeadline {
  let remainingMs = waits().request
  return async (work) => {
    const start = performance.now()
    const deadline = new AbortController()
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
      return await Promise.race([work(deadline.signal), timeout])
    } finally {
      clearTimeout(timer)
      remainingMs -= performance.now() - start
    }
  }
}
