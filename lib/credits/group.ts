import { DatabaseError, type PoolClient, type QueryConfig, type QueryResult, type QueryResultRow } from "pg"
import type { OwnerId } from "@/lib/authority/owner"
import { pool } from "@/lib/platform/postgres/pool"
import { waits } from "@/lib/platform/postgres/waits"
import { inTurn, WaitingLine } from "@/lib/platform/queues/turns"
import { singleton } from "@/lib/singleton"

// Statements of one account wait for each other, because each locks its row, and each commit waits for the disk. So the
// statements that wait while one is executed follow in one transaction, with one commit: docs/ledger.md.

const maxMembers = 20

/** After this time a group takes no further statement. */
const maxMs = 1_000

/** The connection was lost after COMMIT was sent. The cause makes it a temporary error. */
export class UnknownCommit extends Error {
  constructor(cause: unknown) {
    super("The connection was lost during the commit.", { cause })
  }
}

/** `runId`: the run that the statement closes. */
type Member = {
  statement: QueryConfig
  runId: string | undefined
  settle: (outcome: Promise<QueryResult>) => void
  signal: AbortSignal | undefined
}

type Group = { waiting: WaitingLine; next: Member[]; isBusy: boolean }

function groups(): Map<string, Group> {
  return singleton("groups", () => new Map())
}

/**
 * Executes a statement that locks the row of the account, alone or together with the statements that wait with it. It is
 * committed when the promise resolves.
 * @param runId the run that the statement closes: such statements go first
 * @param signal aborts the wait
 * @throws TooManyWaiting, for a statement without `runId`
 * @throws UnknownCommit if the statement may have taken effect
 */
export function executeGrouped<Row extends QueryResultRow>(
  owner: OwnerId,
  statement: QueryConfig,
  { runId, signal }: { runId?: string; signal?: AbortSignal | undefined } = {},
): Promise<QueryResult<Row>> {
  if (signal?.aborted) return Promise.reject(signal.reason)
  const group = groups().get(owner) ?? { waiting: new WaitingLine(), next: [], isBusy: false }
  groups().set(owner, group)
  return new Promise((resolve, reject) => {
    const settle = (outcome: Promise<QueryResult>) => void outcome.then(resolve as never, reject)
    const member = { statement, runId, settle, signal }
    group.waiting.add(runId ? "close" : "request", () => group.next.push(member), reject, signal)
    if (!group.isBusy) void empty(owner, group)
  })
}

async function empty(owner: OwnerId, group: Group): Promise<void> {
  group.isBusy = true
  while (!group.waiting.isEmpty) {
    await inTurn(owner, "close", async () => {
      while (group.next.length < maxMembers && group.waiting.startNext());
      const members = group.next.splice(0)
      for (let rest = members; rest.length > 0; ) rest = await execute(owner, rest)
    })
  }
  groups().delete(owner)
}

/** Settles each member or returns it. */
async function execute(owner: OwnerId, members: Member[]): Promise<Member[]> {
  if (members.length === 1) return executeEach(members)
  let client: PoolClient
  try {
    client = await pool().connect()
  } catch (error) {
    return rejectAll(members, error)
  }
  const executed: [Member, QueryResult][] = []
  let isCommitting = false
  try {
    const start = performance.now()
    // If this machine is lost in between, PostgreSQL would keep the account locked until TCP gives up.
    await client.query(`BEGIN; SET LOCAL idle_in_transaction_session_timeout = ${waits().response}`)
    await lockRuns(client, owner, members)
    for (const member of members) {
      if (executed.length > 0 && performance.now() - start > maxMs) break
      executed.push([member, await client.query(member.statement)])
    }
    isCommitting = true
    await client.query("COMMIT")
    client.release()
    for (const [member, result] of executed) member.settle(Promise.resolve(result))
    return members.slice(executed.length)
  } catch (error) {
    // Closing the connection rolls back in any state.
    client.release(true)
    // An ERROR of the commit, such as one of a deferred constraint, has rolled back, too.
    const isRolledBack = error instanceof DatabaseError && error.severity === "ERROR"
    if (!isCommitting || isRolledBack) return executeEach(members)
    rejectAll(
      executed.map(([member]) => member),
      new UnknownCommit(error),
    )
    return members.slice(executed.length)
  }
}

/** A statement that closes a run locks the run before the account, so a group locks all its runs first. */
async function lockRuns(client: PoolClient, owner: OwnerId, members: readonly Member[]): Promise<void> {
  const runIds = members.flatMap(({ runId }) => runId ?? [])
  // A single one goes first anyway.
  if (runIds.length < 2) return
  const text = "SELECT FROM runs WHERE id = ANY ($1::uuid[]) AND user_id = $2 ORDER BY id FOR UPDATE"
  await client.query({ name: "lock-runs", text, values: [runIds, owner] })
}

/** No member is refused because of another one. */
async function executeEach(members: readonly Member[]): Promise<[]> {
  for (const [index, { statement, settle, signal }] of members.entries()) {
    if (signal?.aborted) {
      settle(Promise.reject(signal.reason))
      continue
    }
    const outcome = pool().query(statement)
    settle(outcome)
    const error = await outcome.then(
      () => undefined,
      (error: unknown) => error,
    )
    // Without PostgreSQL, each attempt would take until its timeout.
    if (error && !(error instanceof DatabaseError)) return rejectAll(members.slice(index + 1), error)
  }
  return []
}

function rejectAll(members: readonly Member[], error: unknown): [] {
  for (const { settle } of members) settle(Promise.reject(error))
  return []
}
