import type { Client } from "pg"
import type { ReserveRequest } from "@/lib/credits/ledger"

// A conventional implementation of the ledger: two transactions, row locks by SELECT … FOR UPDATE, decisions in code.

type Account = { balance: string; seq: string }

/** @returns whether the balance was sufficient */
export async function reserveInTransaction(
  client: Client,
  runId: string,
  entryId: string,
  { owner, keyId, idempotencyKey, fingerprint, amount }: ReserveRequest,
): Promise<boolean> {
  await client.query("BEGIN")
  const { rows } = await client.query<Account>(
    "SELECT balance, seq FROM credit_accounts WHERE user_id = $1 FOR UPDATE",
    [owner],
  )
  const balance = Number(rows[0]?.balance ?? 0) - amount
  const seq = Number(rows[0]?.seq ?? 0) + 1
  if (balance < 0) {
    await client.query("ROLLBACK")
    return false
  }
  await client.query("UPDATE credit_accounts SET balance = $2, seq = $3 WHERE user_id = $1", [owner, balance, seq])
  await client.query(
    `INSERT INTO runs (id, user_id, key_id, reserved, idempotency_key, fingerprint, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, now() + interval '60 seconds')`,
    [runId, owner, keyId, amount, idempotencyKey, fingerprint],
  )
  await client.query(
    `INSERT INTO credit_entries (id, user_id, seq, kind, amount, balance_after, run_id)
     VALUES ($1, $2, $3, 'reserve', $4, $5, $6)`,
    [entryId, owner, seq, -amount, balance, runId],
  )
  await client.query("COMMIT")
  return true
}

/** @returns whether the run was still reserved */
export async function settleInTransaction(
  client: Client,
  runId: string,
  entryId: string,
  cost: number,
  [head, tail]: readonly [string, string],
): Promise<boolean> {
  await client.query("BEGIN")
  const { rows } = await client.query<Account & { user_id: string; reserved: string; state: string }>(
    `SELECT r.user_id, r.reserved, r.state, a.balance, a.seq
     FROM runs r JOIN credit_accounts a USING (user_id) WHERE r.id = $1 FOR UPDATE`,
    [runId],
  )
  const [run] = rows
  if (run?.state !== "reserved") {
    await client.query("ROLLBACK")
    return false
  }
  const rest = Number(run.reserved) - cost
  const balance = Number(run.balance) + rest
  const seq = Number(run.seq) + 1
  await client.query("UPDATE credit_accounts SET balance = $2, seq = $3, spent = spent + $4 WHERE user_id = $1", [
    run.user_id,
    balance,
    seq,
    cost,
  ])
  await client.query(
    `UPDATE runs SET state = 'settled', cost = $2, ended_at = now(), response_status = 200, response_body = $3
     WHERE id = $1`,
    [runId, cost, head + balance + tail],
  )
  await client.query(
    `INSERT INTO credit_entries (id, user_id, seq, kind, amount, balance_after, run_id)
     VALUES ($1, $2, $3, 'settle', $4, $5, $6)`,
    [entryId, run.user_id, seq, rest, balance, runId],
  )
  await client.query("COMMIT")
  return true
}
