import { Client } from "pg"
import { env } from "@/lib/env"
import { getTypeParser, type Statement } from "./page"
import { PrimaryClient } from "./primary"
import { withSettings } from "./settings"
import { mayMove, standbyInUse, untilLost } from "./standbys"

/** Shown in `pg_stat_activity`. */
export const cursorApplication = "stream"

/** Rows in memory at a time. */
const batch = 500

const batchMs = 30_000

/** Longer than the deadline of a request, which then ends first. */
const connectMs = 5_000

/** Longer than a stream, which then ends first and says why. */
const idleMarginMs = 10_000

/** For the end of the reader's own previous transaction. */
const lockMs = 500

/** SQLSTATE. */
const lockNotAvailable = "55P03"

export type Cursor = {
  /** Empty after the last row. */
  next: () => Promise<readonly unknown[]>
  close: () => Promise<void>
  /** A statement in progress fails. */
  abort: () => void
}

export type Snapshot = Pick<Cursor, "close" | "abort"> & {
  /** Ends the statement before it. */
  read: (statement: Statement) => Promise<Cursor["next"]>
}

/** If a standby fails before it has returned the first rows, as in a conflict with recovery, the primary returns all. */
export async function openCursor(statement: Statement, reader: string, maxMs: number): Promise<Cursor | undefined> {
  const standby = standbyInUse()
  if (!standby) return openCursorAt(env().DATABASE_URL, statement, reader, maxMs)
  const opening = openCursorAt(standby.url, statement, reader, maxMs)
  const opened = await untilLost(standby, () => opening).catch((error) => {
    // It may still open, and would keep the lock of the reader.
    opening.then((late) => late?.abort()).catch(() => {})
    throw error
  })
  if (!opened) return undefined
  let cursor = opened
  let isFirst = true
  let isAborted = false
  return {
    async next() {
      const mayReopen = isFirst
      isFirst = false
      try {
        return await untilLost(standby, cursor.next)
      } catch (error) {
        if (!mayReopen || isAborted || !mayMove(error)) throw error
        cursor.abort()
        const reopened = await openCursorAt(env().DATABASE_URL, statement, reader, maxMs)
        if (!reopened) throw error
        cursor = reopened
        if (isAborted) cursor.abort()
        return cursor.next()
      }
    },
    close: () => cursor.close(),
    abort() {
      isAborted = true
      cursor.abort()
    },
  }
}

async function openCursorAt(
  url: string,
  statement: Statement,
  reader: string,
  maxMs: number,
): Promise<Cursor | undefined> {
  const snapshot = await openSnapshot(reader, maxMs, url)
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
 * Its own connection, so that requests never wait for it. A lock limits a reader to one transaction in all processes,
 * per database.
 * @param maxMs PostgreSQL ends the transaction a little later, if this process no longer runs
 * @returns undefined if the reader has another one
 */
export async function openSnapshot(
  reader: string,
  maxMs: number,
  url = env().DATABASE_URL,
): Promise<Snapshot | undefined> {
  const Kind = url === env().DATABASE_URL ? PrimaryClient : Client
  const client = new Kind({
    connectionString: withSettings(url),
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

/** Waits for a moment, because the transaction of a disconnected reader ends a little later. */
async function lock(client: Client, reader: string): Promise<boolean> {
  try {
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`stream of ${reader}`])
    return true
  } catch (error) {
    if ((error as { code?: unknown }).code === lockNotAvailable) return false
    throw error
  }
}
