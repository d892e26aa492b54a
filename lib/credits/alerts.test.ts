import { beforeEach, expect, test } from "vitest"
import type { OwnerId } from "@/lib/authority/owner"
import { env } from "@/lib/env"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { singletons } from "@/lib/singleton"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { receiveEmails } from "@/tests/support/received-emails"
import { alertForm, alertsOf, sendAlerts, setAlerts } from "./alerts"
import { reserve, settle } from "./ledger"

const received = receiveEmails()

const off = { left: null, spent_day: null, spent_month: null }

beforeEach(async () => {
  await db().creditAlert.deleteMany()
})

async function customer(granted = 1_000) {
  const user = await createUser()
  await grantCredits(user.id, granted)
  const owner = user.id as OwnerId
  const { key } = await createKey({ user, surface: "user" })
  const hold = async (amount: number) => {
    const reserved = await reserve({
      owner,
      keyId: key.id,
      idempotencyKey: null,
      fingerprint: Buffer.alloc(32),
      amount,
    })
    return reserved.ok ? reserved.runId : expect.fail()
  }
  return {
    owner,
    hold,
    set: (alerts: { [Kind in keyof typeof off]?: number | null }) => setAlerts(owner, { ...off, ...alerts }),
    spend: async (amount: number) => settle(owner, await hold(amount), amount, ["", ""]),
    /** After a round. */
    subjects: async () => {
      await sendAlerts()
      const own = received.emails.filter((text) => text.includes(`\nTo: ${user.email}\r\n`))
      return own.map((text) => /^Subject: (.*)$/m.exec(text)?.[1]?.trim() ?? "")
    },
  }
}

/** As if the sweeper looked again in the next period. */
function nextPeriod(owner: OwnerId) {
  const text = "UPDATE credit_alerts SET period_start = period_start - interval '40 days' WHERE user_id = $1"
  return pool().query(text, [owner])
}

test("at the number of credits left there is one email, and another one after the balance was higher", async () => {
  const { owner, set, spend, subjects } = await customer(1_000)
  await set({ left: 100 })
  await spend(899)
  expect(await subjects()).toEqual([])
  await spend(1)
  await spend(1)
  for (let round = 0; round < 2; round++) expect(await subjects()).toEqual(["Your balance is 99 credits"])
  await grantCredits(owner, 500)
  await subjects()
  await spend(550)
  expect(await subjects()).toEqual(["Your balance is 99 credits", "Your balance is 49 credits"])
})

test("credits that calls in progress hold count as left", async () => {
  const { set, hold, subjects } = await customer(110)
  await set({ left: 100 })
  await hold(50)
  expect(await subjects()).toEqual([])
})

test.each(["spent_day", "spent_month"] as const)("%s: one email in each period", async (kind) => {
  const { owner, set, spend, subjects } = await customer(1_000)
  const subject = (amount: number) => `You spent ${amount} credits this ${kind === "spent_day" ? "day" : "month"}`
  await spend(60)
  await set({ [kind]: 100 })
  expect(await subjects()).toEqual([])
  await spend(40)
  await spend(10)
  for (let round = 0; round < 2; round++) expect(await subjects()).toEqual([subject(110)])
  // Runs of an earlier period do not count in the next one.
  await pool().query(
    "UPDATE runs SET created_at = created_at - interval '40 days', ended_at = ended_at - interval '40 days' WHERE user_id = $1",
    [owner],
  )
  await nextPeriod(owner)
  await spend(99)
  expect(await subjects()).toEqual([subject(110)])
  await spend(1)
  expect(await subjects()).toEqual([subject(110), subject(100)])
})

test("an alert with another number is due again, and one that is off sends nothing", async () => {
  const { owner, set, spend, subjects } = await customer(1_000)
  await set({ left: 500 })
  await spend(600)
  await subjects()
  await set({ left: 400 })
  expect(await subjects()).toHaveLength(2)
  expect(await alertsOf(owner)).toEqual({ left: 400 })
  await set({ left: null, spent_day: 10 })
  expect(await alertsOf(owner)).toEqual({ spent_day: 10 })
  await set({})
  expect([await alertsOf(owner), await subjects()]).toEqual([{}, expect.objectContaining({ length: 2 })])
})

test("several processes send one email", async () => {
  const { set, spend, subjects } = await customer(100)
  await set({ left: 50 })
  await spend(60)
  await Promise.all([sendAlerts(), sendAlerts(), sendAlerts()])
  expect(await subjects()).toHaveLength(1)
})

test("an email that fails is tried again", async () => {
  const { owner, set, spend, subjects } = await customer(100)
  await set({ left: 50 })
  await spend(60)
  const { SMTP_URL } = env()
  const connectTo = (url: string | undefined) => {
    Object.assign(env(), { SMTP_URL: url })
    delete singletons.smtp
  }
  connectTo("smtp://127.0.0.1:1")
  expect(await subjects()).toEqual([])
  connectTo(SMTP_URL)
  expect(await subjects()).toEqual([])
  await db().creditAlert.updateMany({ where: { userId: owner }, data: { tryAt: new Date(0) } })
  expect(await subjects()).toEqual(["Your balance is 40 credits"])
})

test("a banned account gets no email", async () => {
  const { owner, set, spend, subjects } = await customer(100)
  await set({ left: 50 })
  await spend(60)
  await db().user.update({ where: { id: owner }, data: { status: "banned" } })
  expect(await subjects()).toEqual([])
})

test.each(["0", "-1", "1.5", "1e3", "9999999999", "x"])("%j is not a number of credits", (left) => {
  expect(alertForm.safeParse({ left, spent_day: "", spent_month: "1" }).success).toBe(false)
})

test("an empty field is off", () => {
  expect(alertForm.parse({ left: " ", spent_day: "", spent_month: "7" })).toEqual({ ...off, spent_month: 7 })
})
