import { setTimeout as sleep } from "node:timers/promises"
import type { Pool } from "pg"
import { findViolations } from "@/tests/support/ledger-invariants"
import type { Account, Call } from "./chaos-clients"

/** A call and what it was answered, which is checked against what was charged. */
export type Charged = Pick<Call, "idempotencyKey" | "words" | "cost" | "bodies"> & { account: { id: string } }

/** What may never be seen. */
export const violations = new Set<string>()

/** Shows it at once, the first twenty of them. */
export function reportViolation(text: string): void {
  if (violations.size < 20 && !violations.has(text)) console.error(`\n  VIOLATION ${text}`)
  violations.add(text)
}

// What must hold once every call has its answer; each line returned is a violation.

/**
 * Every acknowledged answer is the stored one of the only settled run of its key, and nothing else was charged.
 * @param of the accounts to look at; all when left out
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
    if (Number(run.cost) !== call.cost) return `${call.idempotencyKey} was charged ${run.cost} and costs ${call.cost}`
    if (call.bodies.some((body) => body !== run.response_body))
      return `${call.idempotencyKey} got another answer than stored`
    const { data } = JSON.parse(run.response_body)
    if (data.cost !== call.cost || data.result.words !== call.words) return `${call.idempotencyKey} got a wrong answer`
    return []
  })
  const known = new Set(calls.map(({ idempotencyKey }) => idempotencyKey))
  const unknown = [...settled.keys()].filter((key) => !known.has(key))
  return [...wrong, ...unknown.map((key) => `a run of a call that nobody made was charged: ${key || "without a key"}`)]
}

export async function checkLedger(database: Pool): Promise<string[]> {
  const broken = (await findViolations(database)).map(({ rule, subject }) => `${rule}: ${subject}`)
  const { rows } = await database.query<{ id: string }>("SELECT id FROM runs WHERE state = 'reserved'")
  return [...broken, ...rows.map(({ id }) => `reservation lost: ${id}`)]
}

/** What an owner is told adds up, over all pages, and is what was granted less what the calls cost. */
export async function checkBalance(
  address: string,
  account: Account,
  calls: readonly Pick<Call, "account" | "cost">[],
): Promise<string[]> {
  const { amounts, meta } = await readCredits(address, account)
  const cost = total(calls.filter((call) => call.account === account).map((call) => call.cost))
  const told = { balance: meta.balance, held: meta.held, entries: meta.total, sum: total(amounts) }
  const balance = account.granted - cost
  const expected = { balance, held: 0, entries: amounts.length, sum: balance }
  if (JSON.stringify(told) === JSON.stringify(expected)) return []
  return [`${account.id} is told ${JSON.stringify(told)} instead of ${JSON.stringify(expected)}`]
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

/** A busy machine answers 503 now and then, and a key that was used much 429. */
async function readPage(url: string, keys: readonly string[]): Promise<Page> {
  for (let attempt = 0; ; attempt++) {
    const response = await fetch(url, { headers: { Authorization: `Bearer ${keys[attempt % keys.length]}` } })
    if (response.ok) return response.json()
    const isPassing = response.status === 503 || response.status === 429
    if (!isPassing || attempt === 20) throw new Error(`${url} is answered ${response.status}: ${await response.text()}`)
    await sleep(1_000)
  }
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}
