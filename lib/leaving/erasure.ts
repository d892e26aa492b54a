import { Prisma } from "@/generated/prisma/client"
import { audit } from "@/lib/audit/entries"
import { idIn, lockAccounts } from "@/lib/authority/authority"
import { revoke } from "@/lib/keys/mutations"
import type { PersonalTable } from "@/lib/personal-table"
import { sendEmail } from "@/lib/platform/email/send"
import { openSnapshot, type Snapshot } from "@/lib/platform/postgres/cursor"
import { pool } from "@/lib/platform/postgres/pool"
import { db, type Transaction } from "@/lib/platform/postgres/prisma"
import { isRequested, mayErase, requestCancellation, requestForgetting } from "@/lib/purchases/provider-requests"
import { erasedHash, personalTables } from "./personal-data"

// Two steps, at least a minute apart: the first one ends the account's access, and by the second one all work in progress
// has ended. Any number of processes may do so at once. A process that dies leaves the rest to a later round: every
// statement is idempotent.

/** For one account; a later round continues. */
const maxMs = 600_000

/** Of accounts, and of keys that are revoked at once: each writes to the audit log. */
const batch = 100

export async function eraseDueAccounts(): Promise<number> {
  const started = await each("started_at IS NULL AND due_at <= now()", begin)
  const erased = await each(
    `started_at < now() - interval '1 minute'
    AND NOT EXISTS (SELECT FROM runs WHERE runs.user_id = account_deletions.user_id AND state = 'reserved')
    AND ${mayErase("account_deletions.user_id", "started_at")}`,
    erase,
  )
  const failure = started.failure ?? erased.failure
  if (failure) throw failure
  return erased.count
}

/** Accounts that would have been erased a day ago without the requests that wait for the payment provider. */
export async function countWaitingErasures(): Promise<number> {
  const { rows } = await pool().query<{ count: number }>(`
    SELECT count(*)::int AS count FROM account_deletions d
    WHERE erased_at IS NULL AND started_at < now() - interval '1 day' AND ${isRequested("d.user_id")}`)
  return rows[0]?.count ?? 0
}

/** An account for which the step fails does not hold up the others. */
async function each(condition: string, step: (userId: string) => Promise<boolean>) {
  let count = 0
  let failure: unknown
  for (const { userId } of await findDue(condition)) {
    try {
      if (await step(userId)) count++
    } catch (error) {
      failure = error
    }
  }
  return { count, failure }
}

function findDue(condition: string): Promise<{ userId: string }[]> {
  return db().$queryRaw(Prisma.sql`
    SELECT user_id AS "userId" FROM account_deletions
    WHERE erased_at IS NULL AND ${Prisma.raw(condition)} ORDER BY due_at LIMIT ${batch}`)
}

/** A process that dies before the email loses it, instead of sending it twice. */
async function begin(userId: string): Promise<boolean> {
  const account = await db().$transaction(async (transaction) => {
    const [account] = await lockAccounts(transaction, Prisma.sql`${idIn(userId)} AND status <> 'active'`)
    const started = await transaction.$executeRaw`
      UPDATE account_deletions SET started_at = now()
      WHERE user_id = ${userId}::uuid AND started_at IS NULL AND due_at <= now() AND ${account !== undefined}`
    if (started === 0) return undefined
    await requestCancellation(transaction, userId, "cancel_now")
    await requestForgetting(transaction, userId)
    await endSubscription(transaction, userId)
    return account
  })
  if (!account) return false
  await endKeys(userId)
  await sendEmail(account, "account_deleted")
  return true
}

async function endSubscription(transaction: Transaction, userId: string): Promise<void> {
  await transaction.$executeRaw`
    UPDATE subscriptions SET status = 'canceled', canceled_at = now()
    WHERE user_id = ${userId}::uuid AND status <> 'canceled'`
}

/** After it no request is logged with a key of the account; earlier ones are erased in the second step. */
async function endKeys(userId: string): Promise<void> {
  const some = Prisma.sql`
    id IN (SELECT id FROM api_keys WHERE user_id = ${userId}::uuid AND revoked_at IS NULL LIMIT ${batch})`
  for (let left = 1; left; ) {
    const revoked = await db().$transaction((transaction) =>
      revoke(transaction, null, [userId], some, "other", { via: "deletion" }),
    )
    left = revoked.length
  }
  await pool().query(`UPDATE api_keys SET hash = ${erasedHash} WHERE user_id = $1 AND hash <> ${erasedHash}`, [userId])
}

/** @returns false if another process is erasing the account, or has erased it */
async function erase(userId: string): Promise<boolean> {
  const snapshot = await openSnapshot(`erasure of ${userId}`, maxMs)
  if (!snapshot) return false
  try {
    // The keys of a process that died after the first step.
    await endKeys(userId)
    for (const [name, table] of personalTables()) if (name !== "users") await eraseRows(name, table, userId, snapshot)
    return await finish(userId)
  } finally {
    snapshot.abort()
  }
}

async function eraseRows(name: string, table: PersonalTable, userId: string, snapshot: Snapshot): Promise<void> {
  const { rows, erasure } = table
  if (erasure === "rows") {
    await pool().query(`DELETE FROM ${name} WHERE ${rows}`, [userId])
  } else if (erasure === "columns") {
    const overwriting = overwritingOf(name, table)
    if (!overwriting) return
    // Read once from end to end: a new search for each batch would take quadratic time.
    const next = await snapshot.read({ text: `SELECT id FROM ${name} WHERE ${rows}`, values: [userId] })
    for (let found = await next(); found.length > 0; found = await next()) {
      await pool().query(overwriting, [(found as { id: string }[]).map(({ id }) => id)])
    }
  } else {
    const { statement } = erasure
    for (let left = 1; left; ) left = (await pool().query(statement, [userId])).rowCount ?? 0
  }
}

function overwritingOf(name: string, { columns }: PersonalTable): string | undefined {
  const overwritten = Object.entries(columns).flatMap(([column, [, erased]]) =>
    "sql" in erased ? [{ column: `"${column}"`, sql: erased.sql }] : [],
  )
  if (overwritten.length === 0) return undefined
  const assignments = overwritten.map(({ column, sql }) => `${column} = ${sql}`)
  const differences = overwritten.map(({ column, sql }) => `${column} IS DISTINCT FROM ${sql}`)
  return `UPDATE ${name} SET ${assignments.join(", ")} WHERE id = ANY ($1::uuid[]) AND (${differences.join(" OR ")})`
}

/** The account itself comes last, because its address finds rows of other tables. */
async function finish(userId: string): Promise<boolean> {
  const users = personalTables().find(([name]) => name === "users")
  const overwriting = users && overwritingOf(...users)
  if (!overwriting) throw new Error("The map of personal data has no erasure of accounts.")
  return db().$transaction(async (transaction) => {
    await lockAccounts(transaction, idIn(userId))
    const erased = await transaction.$executeRaw`
      UPDATE account_deletions SET erased_at = now() WHERE user_id = ${userId}::uuid AND erased_at IS NULL`
    if (erased === 0) return false
    await transaction.$executeRawUnsafe(overwriting, [userId])
    await audit(transaction, { actorId: null, action: "user.erased", targetType: "user", targetId: userId })
    return true
  })
}
