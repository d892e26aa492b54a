import { afterAll, expect, test } from "vitest"
import type { OwnerId } from "@/lib/authority/owner"
import { release, reserve, settle } from "@/lib/credits/ledger"
import { deductCredits, grantCredits as grantAsStaff } from "@/lib/credits/mutations"
import { pool } from "@/lib/platform/postgres/pool"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { findViolations } from "@/tests/support/ledger-invariants"
import { neededForCall } from "../../needed-for-call"
import { GET } from "./route"

afterAll(async () => {
  expect(await findViolations(pool())).toEqual([])
})

async function customer() {
  const user = await createUser({ creditAccount: { create: {} } })
  const { secret, key } = await createKey({ user, surface: "user" })
  return { id: user.id as OwnerId, secret, keyId: key.id }
}

type Customer = Awaited<ReturnType<typeof customer>>

async function get(secret: string, search = "") {
  const request = new Request(`http://localhost:3000/api/v1/me/credits${search}`, { headers: { "x-api-key": secret } })
  const response = await GET(request)
  return { status: response.status, body: await response.json() }
}

/** Reserves credits and leaves the run open. */
async function open({ id, keyId }: Customer, amount: number): Promise<string> {
  const request = { owner: id, keyId, idempotencyKey: null, fingerprint: Buffer.alloc(32), amount }
  const reserved = await reserve(request)
  return reserved.ok ? reserved.runId : expect.fail(reserved.reason)
}

/** Makes entries of every kind except purchases; afterwards the balance is 86, and 12 credits are held. */
async function createHistory(account: Customer, actorId: OwnerId) {
  await grantCredits(account.id, 100)
  await settle(account.id, await open(account, 10), 3, ["{}", ""])
  await settle(account.id, await open(account, 10), 0, ["{}", ""])
  await settle(account.id, await open(account, 10), 10, ["{}", ""])
  await release(account.id, await open(account, 10), "failed")
  const form = { requestId: crypto.randomUUID(), reason: "Agreed on the phone" }
  await grantAsStaff(actorId, account.id, { ...form, amount: 20 })
  await deductCredits(actorId, account.id, { ...form, requestId: crypto.randomUUID(), amount: 9 })
  await open(account, 5)
  await open(account, 7)
}

test("an account that never had credits has a balance of 0", async () => {
  const user = await createUser()
  const { secret } = await createKey({ user, surface: "user" })
  const { status, body } = await get(secret)
  expect(status).toBe(200)
  const page = { total: 0, limit: 100, offset: 0, nextCursor: null }
  expect(body).toEqual({ data: [], meta: { ...page, balance: 0, held: 0, neededForCall: await neededForCall() } })
})

test("every page has the same balance, which is the sum of all amounts, and the held credits", async () => {
  const [account, admin] = [await customer(), await createUser({ role: "admin" })]
  await createHistory(account, admin.id as OwnerId)
  const amounts: number[] = []
  let search = "?limit=3"
  for (let page = 0; search; page++) {
    const { data, meta } = (await get(account.secret, search)).body
    expect(meta).toMatchObject({ balance: 86, held: 12, total: 12 })
    for (const { amount } of data) amounts.push(amount)
    search = meta.nextCursor ? `?limit=3&cursor=${encodeURIComponent(meta.nextCursor)}` : ""
    expect(page).toBeLessThan(5)
  }
  expect(amounts).toHaveLength(12)
  expect(amounts.reduce((sum, amount) => sum + amount, 0)).toBe(86)
  const second = (await get(account.secret, "?limit=4&offset=4")).body
  expect(second.meta).toMatchObject({ balance: 86, held: 12, total: 12 })
  const past = (await get(account.secret, "?until=2020-01-01")).body
  const page = { total: 0, limit: 100, offset: 0, nextCursor: null }
  expect(past).toEqual({ data: [], meta: { ...page, balance: 86, held: 12, neededForCall: await neededForCall() } })
})

test("the entries list every change in order: the credits that runs reserved and those they released", async () => {
  const [account, admin] = [await customer(), await createUser({ role: "admin" })]
  await createHistory(account, admin.id as OwnerId)
  const { data } = (await get(account.secret, "?order=asc")).body
  const changes = data.map((entry: { kind: string; amount: number }) => `${entry.kind} ${entry.amount}`)
  expect(changes).toEqual([
    "grant 100",
    ...["reserve -10", "settle 7", "reserve -10", "settle 10", "reserve -10", "reserve -10", "release 10"],
    ...["grant 20", "adjustment -9", "reserve -5", "reserve -7"],
  ])
  let [balance, seq] = [0, 0]
  for (const entry of data) {
    balance += entry.amount
    seq += 1
    expect(entry).toMatchObject({ userId: account.id, balanceAfter: balance, seq, orderId: null })
    expect(entry.runId === null).toBe(entry.kind === "grant" || entry.kind === "adjustment")
  }
})

test("entries do not reveal which member of staff granted or deducted credits", async () => {
  const [account, admin] = [await customer(), await createUser({ role: "admin" })]
  await createHistory(account, admin.id as OwnerId)
  const { data } = (await get(account.secret)).body
  for (const entry of data) expect(entry).not.toHaveProperty("actorId")
  expect(JSON.stringify(data)).not.toContain(admin.id)
  expect(data.filter(({ reason }: { reason: string | null }) => reason === "Agreed on the phone")).toHaveLength(2)
})

test("no query returns the entries, balance or runs of another account", async () => {
  const [account, other, admin] = [await customer(), await customer(), await createUser({ role: "admin" })]
  await createHistory(other, admin.id as OwnerId)
  await grantCredits(account.id, 5)
  for (const search of ["", "?limit=500", "?order=asc", "?limit=1", "?since=2020-01-01"]) {
    const { data, meta } = (await get(account.secret, search)).body
    expect(data).toMatchObject([{ userId: account.id, kind: "grant", amount: 5, balanceAfter: 5 }])
    expect(meta).toMatchObject({ total: 1, balance: 5, held: 0 })
  }
  const cursor = (await get(other.secret, "?limit=1")).body.meta.nextCursor
  const { data } = (await get(account.secret, `?cursor=${encodeURIComponent(cursor)}`)).body
  expect(data.every(({ userId }: { userId: string }) => userId === account.id)).toBe(true)
  for (const search of [`?userId=${other.id}`, `?kind=grant&userId=${other.id}`]) {
    expect(await get(account.secret, search)).toMatchObject({ status: 400, body: { error: { code: "bad_request" } } })
  }
})

test("while the ledger changes, the balance of a page matches its newest entry", async () => {
  const account = await customer()
  await grantCredits(account.id, 50)
  let working = true
  const spending = (async () => {
    while (working) await settle(account.id, await open(account, 10), 0, ["{}", ""])
  })()
  for (let round = 0; round < 30; round++) {
    const { data, meta } = (await get(account.secret, "?order=desc&limit=500")).body
    const newest = data.reduce((one: { seq: number }, other: { seq: number }) => (one.seq > other.seq ? one : other))
    expect([meta.balance, meta.total, meta.balance + meta.held]).toEqual([newest.balanceAfter, newest.seq, 50])
  }
  working = false
  await spending
})
