import type { Pool } from "pg"
import { findViolations } from "@/lib/credits/invariants"
import type { Account, Call } from "./chaos-clients"

// What must hold once every call has its answer; each line returned is a violation.

/** Every acknowledged answer is the stored one of the only settled run of its key, and nothing else was charged. */
export async function checkCharges(database: Pool, calls: readonly Call[]): Promise<string[]> {
  const { rows } = await database.query<{ user_id: string; key: string | null; cost: string; response_body: string }>(
    `SELECT user_id, coalesce(idempotency_key, released_key) AS key, cost, response_body FROM runs WHERE state = 'settled'`,
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

/** What owners are told adds up, over all pages, and is what they were granted less what their calls cost. */
export async function checkBalances(
  address: string,
  accounts: readonly Account[],
  calls: readonly Call[],
): Promise<string[]> {
  const wrong = await Promise.all(
    accounts.map(async (account) => {
      const { amounts, meta } = await readCredits(address, account)
      const sum = total(amounts)
      const cost = total(calls.filter((call) => call.account === account).map((call) => call.cost))
      const expected = { balance: account.granted - cost, held: 0, total: amounts.length }
      const told = { balance: meta.balance, held: meta.held, total: meta.total }
      return [
        sum !== meta.balance && `${account.id} has entries of ${sum} and a balance of ${meta.balance}`,
        JSON.stringify(told) !== JSON.stringify(expected) &&
          `${account.id} is told ${JSON.stringify(told)} instead of ${JSON.stringify(expected)}`,
      ]
    }),
  )
  return wrong.flat().filter((text) => text !== false)
}

type Credits = { amounts: number[]; meta: { balance: number; held: number; total: number; nextCursor: string | null } }

async function readCredits(address: string, { keys }: Account): Promise<Credits> {
  const amounts: number[] = []
  for (let cursor = "", page = 0; ; page++) {
    const response = await fetch(`${address}/api/v1/me/credits?limit=500${cursor}`, {
      headers: { Authorization: `Bearer ${keys[page % keys.length]}` },
    })
    if (!response.ok) throw new Error(`The ledger was answered ${response.status}: ${await response.text()}`)
    const { data, meta }: { data: { amount: number }[]; meta: Credits["meta"] } = await response.json()
    amounts.push(...data.map(({ amount }) => amount))
    if (meta.nextCursor === null) return { amounts, meta }
    cursor = `&cursor=${meta.nextCursor}`
  }
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}
