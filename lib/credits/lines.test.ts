import { expect, test } from "vitest"
import type { OwnerId } from "@/lib/authority/owner"
import { pool } from "@/lib/platform/postgres/pool"
import { grantPurchase } from "@/lib/purchases/grant"
import { createKey, createOrder, createUser, grantCredits } from "@/tests/support/factories"
import { release, reserve, settle } from "./ledger"
import { findLines, findOwnRun, lastLinesOf } from "./lines"

async function customer() {
  const user = await createUser()
  await grantCredits(user.id, 100)
  const { key } = await createKey({ user, surface: "user" })
  const owner = user.id as OwnerId
  const run = async () => {
    const request = { owner, keyId: key.id, idempotencyKey: null, fingerprint: Buffer.alloc(32), amount: 10 }
    const reserved = await reserve(request)
    if (!reserved.ok) throw new Error(reserved.reason)
    return reserved.runId
  }
  return { owner, keyId: key.id, run }
}

const all = { limit: 100, offset: 0, order: "asc" } as const

test("a run is one line: its cost when settled, nothing when it failed, its hold while in progress", async () => {
  const { owner, run } = await customer()
  const [first, second, third, fourth] = [await run(), await run(), await run(), await run()]
  await settle(owner, second, 3, ["", ""])
  await settle(owner, first, 10, ["", ""])
  await release(owner, third, "failed")
  const { rows, total, meta } = await findLines.page({ userId: owner }, all)
  expect(total).toBe(5)
  expect(
    rows.map(({ kind, runId, runState, amount, balanceAfter }) => [kind, runId, runState, amount, balanceAfter]),
  ).toEqual([
    ["grant", null, null, 100, 100],
    // A run that costs its maximum has no second entry.
    ["reserve", first, "settled", -10, 90],
    ["reserve", second, "settled", -3, 67],
    ["reserve", third, "failed", 0, 77],
    ["reserve", fourth, "reserved", -10, 60],
  ])
  expect(rows[1]).toMatchObject({ description: "Test key" })
  expect(rows.reduce((sum, { amount }) => sum + amount, 0)).toBe(meta?.balance)
})

test("the pages of many runs have each once, and of no other account", async () => {
  const [{ owner, run }, other] = [await customer(), await customer()]
  for (let count = 0; count < 7; count++) await settle(owner, await run(), 1, ["", ""])
  await settle(other.owner, await other.run(), 1, ["", ""])
  const offsets = [0, 3, 6]
  const pages = await Promise.all(
    offsets.map((offset) => findLines.page({ userId: owner }, { ...all, limit: 3, offset })),
  )
  const ids = pages.flatMap(({ rows }) => rows.slice(0, 3).map(({ id }) => id))
  expect(pages.map(({ total }) => total)).toEqual([8, 8, 8])
  expect(new Set(ids).size).toBe(8)
  const { rows } = await pool().query("SELECT id FROM credit_entries WHERE user_id = $1 AND kind <> 'settle'", [owner])
  expect(ids.sort()).toEqual(rows.map(({ id }) => id).sort())
})

test("the last 5 lines are the newest, with the reasons of grants and the contents of orders", async () => {
  const { owner, run } = await customer()
  for (let count = 0; count < 3; count++) await settle(owner, await run(), 1, ["", ""])
  const { id } = await createOrder({ userId: owner, credits: 500, description: "500 credits" })
  await grantPurchase(owner, id)
  const described = async () => (await lastLinesOf(owner)).map(({ kind, description }) => [kind, description])
  const runs = Array(3).fill(["reserve", "Test key"])
  expect(await described()).toEqual([["purchase", "500 credits"], ...runs, ["grant", "For a test"]])
  await run()
  expect(await described()).toEqual([["reserve", "Test key"], ["purchase", "500 credits"], ...runs])
})

test("a run is found with its key by its owner only", async () => {
  const { owner, keyId, run } = await customer()
  const id = await run()
  expect(await findOwnRun(owner, id)).toMatchObject({ id, state: "reserved", key: { id: keyId } })
  expect(await findOwnRun((await createUser()).id as OwnerId, id)).toBeNull()
})
