import { randomUUID } from "node:crypto"
import { afterAll, expect, test } from "vitest"
import type { OwnerId } from "@/lib/accounts/owner"
import { pool } from "@/lib/postgres/pool"
import { db } from "@/lib/postgres/prisma"
import { createUser, grantCredits as fund } from "@/tests/support/factories"
import { findViolations } from "@/tests/support/ledger-invariants"
import { type CreditForm, creditForm, deductCredits, grantCredits, maxBalance } from "./mutations"

/** Whatever was tried here, the ledger is whole. */
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

test("a grant and a deduction stand in the ledger and in the audit log, with who and why", async () => {
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

test("more than the balance cannot be deducted, and the answer tells the balance", async () => {
  const [actorId, userId] = [await admin(), await customer({ balance: 40 })]
  expect(await deductCredits(actorId, userId, form(41))).toEqual({ ok: false, reason: "insufficient", balance: 40 })
  expect(await auditOf(userId)).toEqual([])
  expect(await deductCredits(actorId, userId, form(40))).toMatchObject({ ok: true, balance: 0 })
})

test("90 a balance grows no further than JSON numbers are exact", async () => {
  const [actorId, userId] = [await admin(), await customer({ balance: maxBalance - 10 })]
  expect(await grantCredits(actorId, userId, form(11))).toEqual({
    ok: false,
    reason: "too_much",
    balance: maxBalance - 10,
  })
  expect(await grantCredits(actorId, userId, form(10))).toMatchObject({ ok: true, balance: maxBalance })
})

test("one form acts once, however often it is sent, and tells what it did", async () => {
  const [actorId, userId] = [await admin(), await customer({ balance: 100 })]
  for (const [act, sent, amount, balance] of [
    [grantCredits, form(25), 25, 125],
    [deductCredits, form(50), -50, 75],
  ] as const) {
    const results = await Promise.all([1, 2, 3].map(() => act(actorId, userId, sent)))
    expect(results.filter((result) => result.ok && !result.repeated)).toHaveLength(1)
    expect(results.filter((result) => result.ok && result.repeated)).toHaveLength(2)
    for (const result of results) expect(result).toMatchObject({ amount, balance })
    expect(await act(actorId, userId, { ...sent, amount: 1 })).toMatchObject({ repeated: true, amount })
  }
  expect(await balanceOf(userId)).toBe(75)
  expect(await auditOf(userId)).toHaveLength(2)
})

test("of deductions at the same moment, those are carried out that the balance covers", async () => {
  const userId = await customer({ balance: 95 })
  const actors = await Promise.all(Array.from({ length: 15 }, admin))
  const results = await Promise.all(actors.map((actorId) => deductCredits(actorId, userId, form(10))))
  expect(results.filter(({ ok }) => ok)).toHaveLength(9)
  expect(results.filter((result) => !result.ok && result.reason === "insufficient")).toHaveLength(6)
  expect(await balanceOf(userId)).toBe(5)
})

test("grants and deductions among statements that lock only the balance, as runs do, leave the ledger whole", async () => {
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
  "to %s needs credits.manage, held by an active account, and an account that is not closed",
  async (_w, act) => {
    const userId = await customer({ balance: 100 })
    for (const role of ["analyst", "support", "finance", "bookkeeper", "member"]) {
      const actor = await createUser({ role })
      expect(await act(actor.id as OwnerId, userId, form(5))).toEqual({ ok: false, reason: "not_permitted" })
    }
    const suspended = await createUser({ role: "owner", status: "banned" })
    expect(await act(suspended.id as OwnerId, userId, form(5))).toEqual({ ok: false, reason: "not_permitted" })
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

const typed = { requestId: randomUUID(), amount: "5", reason: "Agreed on the phone" }

test("the form takes whole amounts from 1 to 1,000,000", () => {
  for (const amount of ["1", "42", "1000000"]) {
    expect(creditForm.parse({ ...typed, amount }).amount).toBe(Number(amount))
  }
})

test.each(["", "0", "-5", "+5", " 5 ", "5.0", "1e3", "0x10", "05", "1,000", "1000001", "9999999", "٥", "Infinity"])(
  "the form refuses the amount %j",
  (amount) => {
    expect(creditForm.safeParse({ ...typed, amount }).success).toBe(false)
  },
)

test.each([
  ["no reason", { reason: "" }],
  ["a reason of two characters", { reason: " ok " }],
  ["a reason of 201 characters", { reason: "x".repeat(201) }],
  ["a reason of two lines", { reason: "first\nsecond" }],
  ["NUL in the reason", { reason: "a\0bc" }],
  ["a request id that is none", { requestId: "1" }],
  ["a field of ours that is not the form's", { userId: randomUUID() }],
])("the form refuses %s", (_what, fields) => {
  expect(creditForm.safeParse({ ...typed, ...fields }).success).toBe(false)
})
