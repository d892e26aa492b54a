/** Less than the three seconds after which an answer would be late, for a busy machine takes its part of them. */
const budgetMs = 2_400

/** Awaits what needs the database, for as long as there is time left. */
export type WithinDeadline = <Outcome>(work: Promise<Outcome>) => Promise<Outcome>

/**
 * The time that one request has for the database. Each wait of the pool ends by itself, but a request has several of them
 * one after the other: all that is awaited through one of these has the time together. What is too late goes on unheard.
 */
export function databaseDeadline(): WithinDeadline {
  let leftMs = budgetMs
  return async (work) => {
    const since = performance.now()
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(tooLate()), leftMs)
    })
    try {
      return await Promise.race([work, late])
    } finally {
      clearTimeout(timer)
      leftMs -= performance.now() - since
    }
  }
}

/** With the code of a connection that took too long, so that it is answered like one. */
function tooLate(): Error {
  return Object.assign(new Error("The database took longer than one request may wait for it."), { code: "ETIMEDOUT" })
}
