import { DatabaseError, type PoolClient, type QueryConfig, type QueryResult, type QueryResultRow } from "pg"
import type { OwnerId } from "@/lib/authority/owner"
import type { Signal } from "@/lib/platform/postgres/deadline"
import { pool } from "@/lib/platform/postgres/pool"
import { waits } from "@/lib/platform/postgres/waits"
import { inTurn, WaitingLine } from "@/lib/platform/queues/turns"
import { singleton } from "@/lib/singleton"

// Statements of one account wait for each other, because each locks its row, and each commit waits for the disk. So the
// statements that wait while one is executed follow in one transaction, with one commit: docs/ledger.md.

const maxMembers = 20

/** A group has as many statements as the last one could have executed in this time, and at least one. */
const maxMs = 1_000

/**
 * The connection was lost after COMMIT was sent. A temporary error, for any cause. One class in the process, because a
 * group can have members of several bundles.
 */
export const UnknownCommit = singleton(
  "unknown-commit",
  () =>
    class UnknownCommit extends Error {
      /** transaction_resolution_unknown (PostgreSQL manual, appendix A). */
      readonly code = "08007"

      constructor(cause: unknown) {
        super("The connection was lost during the commit.", { cause })
      }
    },
)

/** `runId`: the run that the statement closes. */
type Member = {
  statement: QueryConfig
  runId: string | undefined
  settle: (outcome: Promise<QueryResult>) => void
  signal: Signal | undefined
}

/** `maxNext`: the number of statements in the next transaction. */
type Group = { waiting: WaitingLine; next: Member[]; isBusy: boolean; maxNext: number }

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
  { runId, signal }: { runId?: string; signal?: Signal | undefined } = {},
): Promise<QueryResult<Row>> {
  if (signal?.aborted) return Promise.reject(signal.reason)
  const group = groups().get(owner) ?? { waiting: new WaitingLine(), next: [], isBusy: false, maxNext: maxMembers }
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
      while (group.next.length < group.maxNext && group.waiting.startNext());
      const members = group.next.splice(0)
      // All have left while they waited for this turn.
      if (members.length === 0) return
      const start = performance.now()
      await execute(owner, members)
      const inTime = Math.floor((members.length * maxMs) / (performance.now() - start))
      group.maxNext = Math.max(1, Math.min(maxMembers, inTime))
    })
  }
  groups().delete(owner)
}

/** Sends all statements and the commit at once, and settles every member. */
async function execute(owner: OwnerId, members: readonly Member[]): Promise<void> {
  if (members.length === 1) return executeEach(members)
  let client: PoolClient
  try {
    client = await pool().connect()
  } catch (error) {
    return rejectAll(members, error)
  }
  // If this machine is lost in between, PostgreSQL would keep the account locked until TCP gives up.
  const begin = `BEGIN; SET LOCAL idle_in_transaction_session_timeout = ${waits().response}`
  const opening = [client.query(begin), ...lockRuns(client, owner, members)]
  const executing = members.map(({ statement }) => client.query(statement))
  const committing = client.query("COMMIT")
  const outcomes = await Promise.allSettled([...opening, ...executing, committing])
  const commit = outcomes[outcomes.length - 1] as PromiseSettledResult<QueryResult>
  client.release(commit.status === "rejected")
  if (commit.status === "fulfilled" && commit.value.command === "COMMIT") {
    for (const [index, { settle }] of members.entries()) settle(executing[index] as Promise<QueryResult>)
  } else if (commit.status === "fulfilled" || isRefusal(commit.reason)) {
    await executeEach(members)
  } else {
    rejectAll(members, new UnknownCommit(commit.reason))
  }
}

/** PostgreSQL, or a pooler that has lost it, closes the connection with these; the commit may have taken effect. */
const closing = /^(08|57P|25P0[34]|58|XX)/

/** The commit was refused and is rolled back, as by a deferred constraint. */
function isRefusal(error: unknown): boolean {
  return error instanceof DatabaseError && !closing.test(error.code ?? "")
}

/** A statement that closes a run locks the run before the account, so a group locks all its runs first. */
function lockRuns(client: PoolClient, owner: OwnerId, members: readonly Member[]): Promise<unknown>[] {
  const runIds = members.flatMap(({ runId }) => runId ?? [])
  // A single one goes first anyway.
  if (runIds.length < 2) return []
  const text = "SELECT FROM runs WHERE id = ANY ($1::uuid[]) AND user_id = $2 ORDER BY id FOR UPDATE"
  return [client.query({ name: "lock-runs", text, values: [runIds, owner] })]
}

/** No member is refused because of another one. */
async function executeEach(members: readonly Member[]): Promise<void> {
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
}

function rejectAll(members: readonly Member[], error: unknown): void {
  for (const { settle } of members) settle(Promise.reject(error))
}
