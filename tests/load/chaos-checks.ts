import { setTimeout as sleep } from "node:timers/promises"
import type { Pool } from "pg"
import { isDatabaseUnavailable } from "@/lib/platform/postgres/failures"
import { findOverspending, findViolations } from "@/tests/support/ledger-invariants"
import type { Account, Call } from "./chaos-clients"

/** A call and the responses it received, to be checked against the runs that were charged. */
export type Charged = Pick<Call, "idempotencyKey" | "body" | "bodies"> & { account: { id: string } }

/** The violations found so far: each is something that must never happen. */
export const violations = new Set<string>()

/** Records a violation and prints the first twenty immediately. */
export function reportViolation(text: string): void {
  if (violations.size < 20 && !violations.has(text)) console.error(`\n  VIOLATION ${text}`)
  violations.add(text)
}

// These checks run when every call has its final response; each string returned is a violation.

/**
 * Every acknowledged response is the stored one of the only settled run with its key, and nothing else was charged.
 * @param of ids of the accounts to check; all accounts if omitted
 */
export async function checkCharges(
  database: Pool,
  calls: readonly Charged[],
  of?: readonly string[],
): Promise<string[]> {
  const { rows } = await database.query<{ user_id: string; key: string | null; cost: string; response_body: string }>(
    `SELECT user_id, coalesce(idempotency_key, released_key) AS key, cost, response_body FROM runs
     WHERE state = 'settled' AND ($1::uuid[] IS NULL OR user_id = ANY ($1))`,
    [of ?? null],
  )
  const settled = new Map<string, (typeof rows)[number][]>()
  for (const run of rows) settled.set(run.key ?? "", [...(settled.get(run.key ?? "") ?? []), run])
  const wrong = calls.flatMap((call) => {
    const [run, ...more] = settled.get(call.idempotencyKey) ?? []
    if (!run) return `${call.idempotencyKey} was acknowledged and never charged`
    if (more.length > 0) return `${call.idempotencyKey} was charged ${more.length + 1} times`
    if (run.user_id !== call.account.id) return `${call.idempotencyKey} was charged to another account`
    const { cost } = JSON.parse(run.response_body).data
    if (Number(run.cost) !== cost) return `${call.idempotencyKey} was charged ${run.cost} and costs ${cost}`
    if (call.bodies.some((body) => body !== run.response_body))
      return `${call.idempotencyKey} received a response other than the stored one`
    return []
  })
  const sent = new Set(calls.map(({ idempotencyKey }) => idempotencyKey))
  const unexpected = [...settled.keys()].filter((key) => !sent.has(key))
  return [
    ...wrong,
    ...unexpected.map((key) => `a run that no client requested was charged: ${key || "without an Idempotency-Key"}`),
  ]
}

export async function checkLedger(database: Pool): Promise<string[]> {
  const { rows: lost } = await database.query<{ id: string }>("SELECT id FROM runs WHERE state = 'reserved'")
  return [...(await checkCommitted(database)), ...lost.map(({ id }) => `reservation lost: ${id}`)]
}

/** Invariants that also hold while calls run: the ledger, and the spending limits of keys, which do not change. */
export async function checkCommitted(database: Pool): Promise<string[]> {
  const { rows } = await database.query<{ id: string }>(
    `SELECT r.id FROM runs r JOIN key_spending s ON s.id = r.spending_id
     WHERE s.starts_at <> spend_period_start(s.period, r.created_at)`,
  )
  const broken = [...(await findViolations(database)), ...(await findOverspending(database))]
  return [
    ...broken.map(({ rule, subject }) => `${rule}: ${subject}`),
    ...rows.map(({ id }) => `run counted in another period than the one in which it reserved: ${id}`),
  ]
}

/** The ledger entries in the API add up to the account's balance: the credits granted minus the cost of its calls. */
export async function checkBalance(
  address: string,
  account: Account,
  calls: readonly Pick<Call, "account" | "bodies">[],
): Promise<string[]> {
  const { amounts, meta } = await readCredits(address, account)
  const costs = calls.flatMap((call) => (call.account === account ? [JSON.parse(call.bodies[0] ?? "").data.cost] : []))
  const reported = { balance: meta.balance, held: meta.held, entries: meta.total, sum: total(amounts) }
  const balance = account.granted - total(costs)
  const expected = { balance, held: 0, entries: amounts.length, sum: balance }
  if (JSON.stringify(reported) === JSON.stringify(expected)) return []
  return [`the API reports ${JSON.stringify(reported)} to ${account.id} instead of ${JSON.stringify(expected)}`]
}

type Page = {
  data: { amount: number }[]
  meta: { balance: number; held: number; total: number; nextCursor: string | null }
}

async function readCredits(address: string, { keys }: Account): Promise<{ amounts: number[]; meta: Page["meta"] }> {
  const amounts: number[] = []
  for (let cursor = ""; ; ) {
    const { data, meta } = await readPage(`${address}/api/v1/me/credits?limit=500${cursor}`, keys)
    amounts.push(...data.map(({ amount }) => amount))
    if (meta.nextCursor === null) return { amounts, meta }
    cursor = `&cursor=${meta.nextCursor}`
  }
}

/** Retries 503, which a busy machine may return, and 429, which a key over its rate limit gets. */
async function readPage(url: string, keys: readonly string[]): Promise<Page> {
  for (let attempt = 0; ; attempt++) {
    const response = await fetch(url, { headers: { Authorization: `Bearer ${keys[attempt % keys.length]}` } })
    if (response.ok) return response.json()
    const isTransient = response.status === 503 || response.status === 429
    if (!isTransient || attempt === 20) throw new Error(`${url} returned ${response.status}: ${await response.text()}`)
    await sleep(1_000)
  }
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}

/** Retries while the database is unavailable. */
export async function whenUp<Result>(act: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await act()
    } catch (error) {
      if (!isDatabaseUnavailable(error)) throw error
      await sleep(100)
    }
  }
}
