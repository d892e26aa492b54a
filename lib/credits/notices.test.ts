import { Pool } from "pg"
import { afterAll, beforeEach, expect, test } from "vitest"
import { z } from "zod"
import type { User } from "@/generated/prisma/client"
import { userMetered } from "@/lib/api/metered"
import type { OwnerId } from "@/lib/authority/owner"
import { env } from "@/lib/env"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { withSettings } from "@/lib/platform/postgres/settings"
import { finishBackground } from "@/lib/platform/queues/background"
import { singletons } from "@/lib/singleton"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { waitingForLocks } from "@/tests/support/locks"
import { receiveEmails } from "@/tests/support/received-emails"
import { release, reserve, settle } from "./ledger"
import { sendNotices } from "./notice-emails"
import { queueNotice } from "./notices"

const needed = 10

const { POST } = userMetered({
  summary: "A test",
  maxCost: needed,
  body: z.strictObject({}),
  result: z.object({}),
  work: async () => ({ result: {}, cost: 1 }),
})

const received = receiveEmails()
const instances = Array.from(
  { length: 6 },
  () => new Pool({ connectionString: withSettings(env().DATABASE_URL), max: 2 }),
)

afterAll(() => Promise.all(instances.map((instance) => instance.end())))

beforeEach(async () => {
  await pool().query("UPDATE credit_notices SET sent_at = now() WHERE sent_at IS NULL")
})

async function customer(granted: number) {
  const user = await createUser()
  if (granted > 0) await grantCredits(user.id, granted)
  const { key, secret } = await createKey({ user, surface: "user", lastUsedAt: new Date() })
  const owner = user.id as OwnerId
  const hold = async (amount: number) => {
    const request = { owner, keyId: key.id, idempotencyKey: null, fingerprint: Buffer.alloc(32), amount }
    const reserved = await reserve(request)
    return reserved.ok ? reserved.runId : expect.fail()
  }
  return {
    user,
    owner,
    secret,
    hold,
    spend: async (amount: number) => settle(owner, await hold(amount), amount, ["", ""]),
    look: () => queueNotice(owner, needed),
  }
}

/** Lets one instance do a round. @returns the subjects of the emails that the account has got by now */
async function subjectsTo({ email }: Pick<User, "email">): Promise<string[]> {
  await sendNotices()
  const own = received.emails.filter((text) => text.includes(`\nTo: ${email}\r\n`))
  return own.map((text) => /^Subject: (.*)$/m.exec(text)?.[1]?.trim() ?? "")
}

const low = (balance: number) => `Your credits are running low: ${balance} credits left`
const tooLow = (balance: number) => `Your credits are too few for a call: ${balance} credits left`

test.each([
  [1_000, 201, []],
  [1_000, 200, [low(200)]],
  [1_000, 10, [low(10)]],
  [1_000, 9, [tooLow(9)]],
  [1_000, 0, [tooLow(0)]],
  // 20 % is too little for a call: there is one email only.
  [30, 10, []],
  [30, 9, [tooLow(9)]],
])("of %i credits %i are left: %j", async (granted, left, expected) => {
  const { user, spend, look } = await customer(granted)
  await spend(granted - left)
  await look()
  expect(await subjectsTo(user)).toEqual(expected)
})

test("an account that never had credits gets no email", async () => {
  const { user, look } = await customer(0)
  await look()
  expect(await subjectsTo(user)).toEqual([])
})

test("there is one email of each kind for the credits that were last added, and others after more were", async () => {
  const { user, spend, look } = await customer(1_000)
  for (const amount of [850, 50, 91, 1]) {
    await spend(amount)
    await look()
    await subjectsTo(user)
  }
  const first = [low(150), tooLow(9)]
  expect(await subjectsTo(user)).toEqual(first)
  // 20 % of the last 100 credits, not of all.
  await grantCredits(user.id, 100)
  await look()
  expect(await subjectsTo(user)).toEqual(first)
  await spend(88)
  await look()
  expect(await subjectsTo(user)).toEqual([...first, low(20)])
  const records = await db().email.findMany({ where: { userId: user.id }, orderBy: { createdAt: "asc" } })
  expect(records.map(({ template, status }) => [template, status])).toEqual([
    ["credits_low", "sent"],
    ["credits_too_low", "sent"],
    ["credits_low", "sent"],
  ])
})

test("when both are due in one round, only the one about calls is sent", async () => {
  const { user, spend, look } = await customer(1_000)
  await spend(900)
  await look()
  await spend(95)
  await look()
  expect(await subjectsTo(user)).toEqual([tooLow(5)])
})

test("credits held by calls in progress count as left, because the calls can release them", async () => {
  const { user, owner, hold, spend, look } = await customer(100)
  const run = await hold(95)
  await look()
  expect(await subjectsTo(user)).toEqual([])
  await release(owner, run, "failed")
  await spend(95)
  await look()
  expect(await subjectsTo(user)).toEqual([tooLow(5)])
})

test("eight checks and six instances that send at once send one email", async () => {
  const { user, spend, look } = await customer(1_000)
  await spend(900)
  await Promise.all(Array.from({ length: 8 }, look))
  const sent = await Promise.all(instances.map((instance) => sendNotices(instance)))
  expect(sent.reduce((sum, count) => sum + count, 0)).toBe(1)
  expect(await subjectsTo(user)).toEqual([low(100)])
})

test("an email that another instance is taking at this moment is left to it", async () => {
  const { user, spend, look } = await customer(1_000)
  await spend(900)
  await look()
  const other = await pool().connect()
  try {
    await other.query("BEGIN")
    await other.query("UPDATE credit_notices SET sent_at = now() WHERE user_id = $1", [user.id])
    let isDone = false
    const sending = sendNotices(instances[0]).finally(() => {
      isDone = true
    })
    // An instance that waited for the row would continue after the commit.
    await expect.poll(async () => isDone || (await waitingForLocks()) !== 0).toBe(true)
    await other.query("COMMIT")
    expect(await sending).toBe(0)
  } finally {
    other.release(true)
  }
  expect(await subjectsTo(user)).toEqual([])
})

test.each([
  ["the account was banned", (id: string) => pool().query("UPDATE users SET status = 'banned' WHERE id = $1", [id])],
  ["credits were added", (id: string) => grantCredits(id, 500)],
])("nothing is sent if %s after the email was queued", async (_what, change) => {
  const { user, spend, look } = await customer(1_000)
  await spend(995)
  await look()
  await change(user.id)
  expect(await subjectsTo(user)).toEqual([])
})

test("an email that the mail server refuses is retried after ten minutes, and an email of a process that died is not", async () => {
  const { user, spend, look } = await customer(1_000)
  await spend(995)
  await look()
  const { SMTP_URL } = env()
  const connectTo = (url: string | undefined) => {
    Object.assign(env(), { SMTP_URL: url })
    delete singletons.smtp
  }
  connectTo("smtp://127.0.0.1:9")
  expect(await subjectsTo(user)).toEqual([])
  connectTo(SMTP_URL)
  expect(await subjectsTo(user)).toEqual([])
  const notice = { userId_kind: { userId: user.id, kind: "too_low" } } as const
  const { sendAt, sentAt, attempts } = await db().creditNotice.findUniqueOrThrow({ where: notice })
  expect([sentAt, attempts]).toEqual([null, 1])
  expect(sendAt.getTime() - Date.now()).toBeGreaterThan(9 * 60_000)
  await db().creditNotice.update({ where: notice, data: { sendAt: new Date(), sentAt: new Date() } })
  expect(await subjectsTo(user)).toEqual([])
  await db().creditNotice.update({ where: notice, data: { sentAt: null } })
  expect(await subjectsTo(user)).toEqual([tooLow(5)])
})

test("a charge and a refusal for lack of credits queue the email after the response; a replay does not", async () => {
  const { user, secret, spend } = await customer(100)
  const headers = { "x-api-key": secret, "content-type": "application/json", "idempotency-key": "one" }
  const call = async () => {
    const request = new Request("http://localhost:3000/api/v1/me/work", { method: "POST", headers, body: "{}" })
    const { status } = await POST(request)
    await finishBackground()
    return [status, await db().creditNotice.count({ where: { userId: user.id, sentAt: null } })]
  }
  await spend(80)
  expect(await call()).toEqual([200, 1])
  expect(await subjectsTo(user)).toEqual([low(19)])
  await pool().query("UPDATE credit_notices SET grant_seq = 0 WHERE user_id = $1", [user.id])
  expect(await call()).toEqual([200, 0])
  expect(await subjectsTo(user)).toHaveLength(1)
  headers["idempotency-key"] = "two"
  await spend(10)
  expect(await call()).toEqual([402, 1])
  expect(await subjectsTo(user)).toEqual([low(19), tooLow(9)])
})
