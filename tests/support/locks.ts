import { expect } from "vitest"
import { pool } from "@/lib/platform/postgres/pool"
import { singletons } from "@/lib/singleton"

/** Lets no statement wait for another one of its account, as in different processes. */
function actAsSeveralProcesses(): void {
  const shared = { get: () => undefined, set: () => {}, delete: () => {} }
  Object.assign(singletons, { groups: shared, turns: shared })
}

function actAsOneProcess(): void {
  Object.assign(singletons, { groups: new Map(), turns: new Map() })
}

/**
 * Starts actions in the given order, as several processes, while a statement is not committed. Each action waits for a
 * lock. Commits the statement when all of them wait.
 */
export async function whileUncommitted<Actions extends readonly (() => Promise<unknown>)[]>(
  [statement, ...values]: readonly [statement: string, ...values: unknown[]],
  ...actions: Actions
): Promise<{ [Action in keyof Actions]: Awaited<ReturnType<Actions[Action]>> }> {
  const connection = await pool().connect()
  actAsSeveralProcesses()
  try {
    await connection.query("BEGIN")
    await connection.query(statement, values)
    const outcomes: Promise<unknown>[] = []
    for (const action of actions) {
      outcomes.push(action())
      await expect.poll(waitingForLocks).toBe(outcomes.length)
    }
    await connection.query("COMMIT")
    return (await Promise.all(outcomes)) as { [Action in keyof Actions]: Awaited<ReturnType<Actions[Action]>> }
  } finally {
    actAsOneProcess()
    // Closes the connection, because after a failure its transaction is still open.
    connection.release(true)
  }
}

/** The number of statements in this database that wait for a lock. */
export async function waitingForLocks(): Promise<number | null> {
  const waiting = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
  return (await pool().query(waiting)).rowCount
}
