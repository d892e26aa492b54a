import type { DatabaseError, PoolClient, QueryConfig, QueryResult, QueryResultRow } from "pg"
import type { Signal } from "@/lib/platform/postgres/deadline"
import { isDatabaseUnavailable } from "@/lib/platform/postgres/failures"
import type { Statement } from "@/lib/platform/postgres/page"
import { pool } from "@/lib/platform/postgres/pool"
import { waits } from "@/lib/platform/postgres/waits"

const maxStatements = 5

/** `deadline`: after it no statement is started, and the transaction is rolled back. */
export type Stored = { statements: readonly Statement[]; deadline: Signal }

/** @throws TypeError if the value is not a list of statements: a bug in the endpoint */
export function readStatements(value: unknown): readonly Statement[] {
  if (!Array.isArray(value) || value.length > maxStatements)
    throw new TypeError(`store must return an array of at most ${maxStatements} statements.`)
  for (const [index, statement] of value.entries()) {
    const { text, values } = statement ?? {}
    if (typeof text !== "string" || text.trim() === "" || !Array.isArray(values))
      throw new TypeError(
        `Statement ${index + 1} of store must have a text, which is not empty, and an array of values.`,
      )
  }
  return value
}

/** One transaction: the statements are executed if `close` returns a row. */
export async function closeAndStore<Row extends QueryResultRow>(
  close: QueryConfig,
  stored: Stored,
): Promise<QueryResult<Row>> {
  refuseIfLate(stored)
  const client = await pool().connect()
  try {
    // If this machine is lost in between, PostgreSQL would keep the account locked until TCP gives up.
    await client.query(`BEGIN; SET LOCAL idle_in_transaction_session_timeout = ${waits().response}`)
    const closed = await client.query<Row>(close)
    if (closed.rows.length > 0) await execute(client, stored)
    // Constraints that are deferred are checked here.
    await client.query("COMMIT").catch(failAs("The commit"))
    client.release()
    return closed
  } catch (error) {
    // Closing the connection rolls back in any state.
    client.release(true)
    throw error
  }
}

async function execute(client: PoolClient, stored: Stored): Promise<void> {
  for (const [index, { text, values }] of stored.statements.entries()) {
    refuseIfLate(stored)
    // The extended protocol refuses several statements in one text, also without values.
    const statement = { text, values, queryMode: "extended" }
    await client.query(statement).catch(failAs(`Statement ${index + 1}`))
  }
}

/** Not a database error, which would be retried: the call has its response already. */
function refuseIfLate({ deadline }: Stored): void {
  if (deadline.aborted) throw new Error("The deadline passed before the result was stored.")
}

/** PostgreSQL's message can contain values, which must not be logged. */
function failAs(name: string): (error: unknown) => never {
  return (error) => {
    if (isDatabaseUnavailable(error)) throw error
    const { code, constraint, table, column } = error as DatabaseError
    const details = Object.entries({ SQLSTATE: code, constraint, table, column }).filter(([, value]) => value)
    throw new Error(`${name} of store failed: ${details.map((detail) => detail.join(" ")).join(", ")}`)
  }
}
