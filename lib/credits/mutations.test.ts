import { randomUUID } from "node:crypto"
import { afterAll, expect, test } from "vitest"
import type { OwnerId } from "@/lib/authority/owner"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { createUser, grantCredits as fund } from "@/tests/support/factories"
import { findViolations } from "@/tests/support/ledger-invariants"
import { maxBalance } from "./book"
import { type CreditForm, creditForm, deductCredits, grantCredits } from "./mutations"

/** No test may leave the ledger inconsistent. */
afterAll(async () => {
  expect(await findViolations(pool())).toEqual([])
})

function form(amount: number, overrides: Partial<CreditForm> = {}): CreditForm {
  return { requestId: randomUUID(), amount, reason: "Agreed on the phone", ...overrides }
}

async function admin(): Promise<OwnerId> {
  return (await createUser({ role: "admin" })).id as OwnerId
}

/** An account with `balance` credits. */
async function customer({ balance = 0, status = "active" as "active" | "banned" | "closed" } = {}): Promise<string> {
  const { id } = await createUser({ status, creditAccount: { create: {} } })
  if (balance > 0) await fund(id, balance)
  return id
}

async function balanceOf(userId: string): Promise<number> {
  return Number((await db().creditAccount.findUniqueOrThrow({ where: { userId } })).balance)
}

function auditOf(targetId: string) {
  return db().auditEntry.findMany({ where: { targetId }, orderBy: { createdAt: "asc" } })
}

test("nobody grants credits to themselves or deducts their own", async () => {
  const actorId = await admin()
  for (const change of [grantCredits, deductCredits]) {
    expect(await change(actorId, actorId, form(5))).toEqual({ ok: false, reason: "oneself" })
  }
  expect(await auditOf(actorId)).toEqual([])
})

test("a grant and a deduction are recorded in the ledger and the audit log, with actor and reason", async () => {
  const [actorId, userId] = [await admin(), await customer()]
  expect(await grantCredits(actorId, userId, form(500))).toEqual({
    ok: true,
    repeated: false,
    amount: 500,
    balance: 500,
  })
  const reason = "Granted twice"
  expect(await deductCredits(actorId, userId, form(120, { reason }))).toEqual({
    ok: true,
    repeated: false,
    amount: -120,
    balance: 380,
  })
  const entries = await db().creditEntry.findMany({ where: { userId }, orderBy: { seq: "asc" } })
  expect(entries).toMatchObject([
    { seq: 1n, kind: "grant", amount: 500n, balanceAfter: 500n, actorId, reason: "Agreed on the phone" },
    { seq: 2n, kind: "adjustment", amount: -120n, balanceAfter: 380n, actorId, reason },
  ])
  expect(await auditOf(userId)).toMatchObject([
    {
      actorId,
      action: "credits.granted",
      targetType: "user",
      details: { amount: 500, reason: "Agreed on the phone", balance: 500 },
    },
    { actorId, action: "credits.deducted", targetType: "user", details: { amount: 120, reason, balance: 380 } },
  ])
})

test("a deduction above the balance is refused, and the result contains the balance", async () => {
  const [actorId, userId] = [await admin(), await customer({ balance: 40 })]
  expect(await deductCredits(actorId, userId, form(41))).toEqual({ ok: false, reason: "insufficient", balance: 40 })
  expect(await auditOf(userId)).toEqual([])
  expect(await deductCredits(actorId, userId, form(40))).toMatchObject({ ok: true, balance: 0 })
})

test("a balance cannot exceed the largest exact JSON number", async () => {
  const [actorId, userId] = [await admin(), await customer({ balance: maxBalance - 10 })]
  expect(await grantCredits(actorId, userId, form(11))).toEqual({
    ok: false,
    reason: "too_much",
    balance: maxBalance - 10,
  })
  expect(await grantCredits(actorId, userId, form(10))).toMatchObject({ ok: true, balance: maxBalance })
})

test("a form submitted several times books once, and every result is the same", async () => {
  const [actorId, userId] = [await admin(), await customer({ balance: 100 })]
  for (const [act, submitted, amount, balance] of [
    [grantCredits, form(25), 25, 125],
    [deductCredits, form(50), -50, 75],
  ] as const) {
    const results = await Promise.all([1, 2, 3].map(() => act(actorId, userId, submitted)))
    expect(results.filter((result) => result.ok && !result.repeated)).toHaveLength(1)
    expect(results.filter((result) => result.ok && result.repeated)).toHaveLength(2)
    for (const result of results) expect(result).toMatchObject({ amount, balance })
    expect(await act(actorId, userId, { ...submitted, amount: 1 })).toMatchObject({ repeated: true, amount })
  }
  expect(await balanceOf(userId)).toBe(75)
  expect(await auditOf(userId)).toHaveLength(2)
})

test("concurrent deductions succeed only as far as the balance covers them", async () => {
  const userId = await customer({ balance: 95 })
  const actors = await Promise.all(Array.from({ length: 15 }, admin))
  const results = await Promise.all(actors.map((actorId) => deductCredits(actorId, userId, form(10))))
  expect(results.filter(({ ok }) => ok)).toHaveLength(9)
  expect(results.filter((result) => !result.ok && result.reason === "insufficient")).toHaveLength(6)
  expect(await balanceOf(userId)).toBe(5)
})

test("grants and deductions concurrent with statements that lock only the balance keep the ledger consistent", async () => {
  const [actorId, userId] = [await admin(), await customer({ balance: 1_000 })]
  await Promise.all(
    Array.from({ length: 30 }, (_, index) => {
      if (index % 3 === 0) return grantCredits(actorId, userId, form(7))
      return index % 3 === 1 ? deductCredits(actorId, userId, form(5)) : fund(userId, 3)
    }),
  )
  expect(await balanceOf(userId)).toBe(1_000 + 10 * 7 - 10 * 5 + 10 * 3)
  expect(await findViolations(pool())).toEqual([])
})

test.each([
  ["grant", grantCredits],
  ["deduct", deductCredits],
] as const)(
  "to %s credits requires an active actor with credits.manage and an account that is not closed",
  async (_verb, act) => {
    const userId = await customer({ balance: 100 })
    for (const role of ["analyst", "support", "finance", "bookkeeper", "member"]) {
      const actor = await createUser({ role })
      expect(await act(actor.id as OwnerId, userId, form(5))).toEqual({ ok: false, reason: "not_permitted" })
    }
    const bannedActor = await createUser({ role: "owner", status: "banned" })
    expect(await act(bannedActor.id as OwnerId, userId, form(5))).toEqual({ ok: false, reason: "not_permitted" })
    expect(await balanceOf(userId)).toBe(100)

    const actorId = await admin()
    const closed = await customer({ balance: 100, status: "closed" })
    expect(await act(actorId, closed, form(5))).toEqual({ ok: false, reason: "closed" })
    expect(await balanceOf(closed)).toBe(100)
    expect(await act(actorId, randomUUID(), form(5))).toEqual({ ok: false, reason: "not_found" })
    const banned = await customer({ balance: 100, status: "banned" })
    expect(await act(actorId, banned, form(5))).toMatchObject({ ok: true })
  },
)

const fields = { requestId: randomUUID(), amount: "5", reason: "Agreed on the phone" }

test("the form accepts whole amounts from 1 to 1,000,000", () => {
  for (const amount of ["1", "42", "1000000"]) {
    expect(creditForm.parse({ ...fields, amount }).amount).toBe(Number(amount))
  }
})

test.each(["", "0", "-5", "+5", " 5 ", "5.0", "1e3", "0x10", "05", "1,000", "1000001", "9999999", "٥", "Infinity"])(
  "the form refuses the amount %j",
  (amount) => {
    expect(creditForm.safeParse({ ...fields, amount }).success).toBe(false)
  },
)

test.each([
  ["no reason", { reason: "" }],
  ["a reason of two characters", { reason: " ok " }],
  ["a reason of 201 characters", { reason: "x".repeat(201) }],
  ["a reason of two lines", { reason: "first\nsecond" }],
  ["a reason with NUL", { reason: "a\0bc" }],
  ["a request id that is not a UUID", { requestId: "1" }],
  ["an unknown field", { userId: randomUUID() }],
])("the form refuses %s", (_case, overrides) => {
  expect(creditForm.safeParse({ ...fields, ...overrides }).success).toBe(false)
})
