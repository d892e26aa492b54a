import { randomUUID } from "node:crypto"
import { afterAll, afterEach, expect, test } from "vitest"
import { env } from "@/lib/env"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { accountsAdapter } from "@/lib/sign-in/next-auth"
import { singletons } from "@/lib/singleton"
import { findViolations } from "@/tests/support/ledger-invariants"
import { createAccount } from "./create"

const environment = env()

afterEach(() => {
  singletons.env = environment
})

afterAll(async () => {
  expect(await findViolations(pool())).toEqual([])
})

function setWelcomeCredits(amount: number): void {
  singletons.env = { ...environment, WELCOME_CREDITS: amount }
}

function newEmail(): string {
  return `${randomUUID()}@example.com`
}

async function signUp(email: string): Promise<string> {
  const created = await createAccount({ email, name: "Ann" })
  return created.ok ? created.user.id : expect.fail(created.reason)
}

async function signInThroughProvider(email: string): Promise<string> {
  const create = accountsAdapter.createUser ?? expect.fail()
  return (await create({ email, name: "Ann", emailVerified: null })).id
}

function creditsOf(userId: string) {
  return db().creditAccount.findUniqueOrThrow({ where: { userId }, include: { entries: true } })
}

test.each([
  ["a sign-up", signUp],
  ["a first sign-in through a provider", signInThroughProvider],
])("an account created by %s has the welcome credits and a ledger entry for them", async (_how, create) => {
  expect(await creditsOf(await create(newEmail()))).toMatchObject({
    balance: 100n,
    seq: 1n,
    entries: [{ seq: 1n, kind: "grant", amount: 100n, balanceAfter: 100n, reason: "Welcome credits", actorId: null }],
  })
  setWelcomeCredits(1_000_000)
  expect(await creditsOf(await create(newEmail()))).toMatchObject({ balance: 1_000_000n })
})

test("without welcome credits a new account has an empty ledger", async () => {
  setWelcomeCredits(0)
  expect(await creditsOf(await signUp(newEmail()))).toMatchObject({ balance: 0n, seq: 0n, entries: [] })
})

test("a second sign-up with the same address grants no welcome credits", async () => {
  const email = newEmail()
  const userId = await signUp(email)
  expect(await createAccount({ email, name: "Ann" })).toEqual({ ok: false, reason: "in_use" })
  expect((await creditsOf(userId)).entries).toHaveLength(1)
})
