import { Client } from "pg"
import { env } from "@/lib/env"
import { getTypeParser, type Statement } from "./page"
import { withSettings } from "./settings"

/** The name of the connections in `pg_stat_activity`. */
export const cursorApplication = "stream"

/** Rows in memory at a time. */
const batch = 500

/** How long the first rows of a list may take, and each batch after them. */
const batchMs = 30_000

/** Beyond the deadline of a request, which then ends first. */
const connectMs = 5_000

/** Beyond the time of a stream, which then ends first and says why. */
const idleMarginMs = 10_000

/** How long a reader's own last transaction may take to end. */
const lockMs = 500

/** The SQLSTATE of a lock that was not free in time. */
const lockNotAvailable = "55P03"

/** All rows of a statement, in its order. */
export type Cursor = {
  /** The next rows; none after the last. */
  next: () => Promise<readonly unknown[]>
  /** Ends the transaction, after the last row. */
  close: () => Promise<void>
  /** Closes the connection: a statement in progress fails. Does nothing after that. */
  abort: () => void
}

/** What the database contained at one moment. */
export type Snapshot = Pick<Cursor, "close" | "abort"> & {
  /** Reads the rows of a statement, which ends the one before it. */
  read: (statement: Statement) => Promise<Cursor["next"]>
}

/** Opens a cursor for the rows of one statement: see openSnapshot. */
export async function openCursor(statement: Statement, reader: string, maxMs: number): Promise<Cursor | undefined> {
  const snapshot = await openSnapshot(reader, maxMs)
  if (!snapshot) return undefined
  const { close, abort } = snapshot
  try {
    return { next: await snapshot.read(statement), close, abort }
  } catch (error) {
    abort()
    throw error
  }
}

/**
 * Opens a transaction over a connection of its own, so that requests never wait for it. A reader has one at a time, in all
 * processes together: a lock that ends with the transaction sees to it.
 * @param maxMs the time in which the reader ends it; if this process no longer runs, PostgreSQL does, a little later
 * @returns undefined if the reader has another one
 */
export async function openSnapshot(reader: string, maxMs: number): Promise<Snapshot | undefined> {
  const client = new Client({
    connectionString: withSettings(env().DATABASE_URL),
    application_name: cursorApplication,
    connectionTimeoutMillis: connectMs,
    query_timeout: batchMs + 1_000,
  })
  // Without a listener the loss of the connection would end the process. The next statement fails.
  client.on("error", () => {})
  // Not awaited: on a connection that is lost it never resolves.
  const abort = () => void client.end()
  try {
    await client.connect()
    await client.query(
      `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
       SET LOCAL statement_timeout = ${batchMs};
       SET LOCAL lock_timeout = ${lockMs};
       SET LOCAL idle_in_transaction_session_timeout = ${maxMs + idleMarginMs}`,
    )
    if (!(await lock(client, reader))) {
      abort()
      return undefined
    }
  } catch (error) {
    abort()
    throw error
  }
  return {
    async read({ text, values }) {
      await client.query("CLOSE ALL")
      await client.query({ text: `DECLARE list NO SCROLL CURSOR FOR ${text}`, values })
      let isLast = false
      return async () => {
        if (isLast) return []
        const { rows } = await client.query({ text: `FETCH ${batch} FROM list`, types: { getTypeParser } })
        isLast = rows.length < batch
        return rows
      }
    },
    async close() {
      await client.query("COMMIT")
    },
    abort,
  }
}

/** Waits for a moment, because the transaction of a reader who disconnected ends a little later. */
async function lock(client: Client, reader: string): Promise<boolean> {
  try {
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`stream of ${reader}`])
    return true
  } catch (error) {
    if ((error as { code?: unknown }).code === lockNotAvailable) return false
    throw error
  }
}
