import { waits } from "./waits"

/** Awaits database work, and fails once the time is used up. */
export type WithinDeadline = <Outcome>(work: Promise<Outcome>) => Promise<Outcome>

/**
 * A time limit for all database work of one request together, because the pool's timeouts apply to each wait alone.
 * Work that exceeds it continues, and its result is ignored.
 */
export function databaseDeadline(): WithinDeadline {
  let remainingMs = waits().request
  return async (work) => {
    const start = performance.now()
    let timer: NodeJS.Timeout | undefined
    const timeout = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(timeoutError()), remainingMs)
    })
    try {
      return await Promise.race([work, timeout])
    } finally {
      clearTimeout(timer)
      remainingMs -= performance.now() - start
    }
  }
}

/** Has the code of a connection timeout, so that the response is the same 503. */
function timeoutError(): Error {
  return Object.assign(new Error("The database took longer than one request may wait for it."), { code: "ETIMEDOUT" })
}
