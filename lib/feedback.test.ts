import { randomUUID } from "node:crypto"
import { expect, test, vi } from "vitest"
import type { OwnerId } from "@/lib/authority/owner"
import { env } from "@/lib/env"
import {
  changeFeedback,
  feedbackForm,
  feedbackMaxLength,
  replyForm,
  replyToFeedback,
  submitFeedback,
} from "@/lib/feedback"
import { sendEmail } from "@/lib/platform/email/send"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { consume, limits } from "@/lib/platform/rate-limit/rate-limit"
import { createUser } from "@/tests/support/factories"

vi.mock("@/lib/platform/email/send", { spy: true })

async function owner(): Promise<OwnerId> {
  return (await createUser()).id as OwnerId
}

function rowsOf(userId: string) {
  return db().feedback.findMany({ where: { userId }, orderBy: [{ createdAt: "asc" }, { id: "asc" }] })
}

test("feedback is stored as a new row of its account, with its line breaks", async () => {
  const id = await owner()
  expect(await submitFeedback(id, feedbackForm.parse({ rating: "4", message: " Good.\r\n\r\nMore! " }))).toEqual({
    ok: true,
  })
  expect(await rowsOf(id)).toMatchObject([{ userId: id, rating: 4, message: "Good.\n\nMore!", status: "new" }])
})

test("one form submitted several times concurrently creates one row", async () => {
  const form = { rating: 2, message: "Again" }
  // Several rounds: only connections that are already open run concurrently.
  for (let round = 0; round < 5; round++) {
    const id = await owner()
    await Promise.all(Array.from({ length: 8 }, () => submitFeedback(id, form)))
    expect(await rowsOf(id)).toHaveLength(1)
  }
})

test("another message, another rating and another account create new rows", async () => {
  const [one, other] = [await owner(), await owner()]
  const form = { rating: 2, message: "Again" }
  for (const sent of [form, { ...form, rating: 3 }, { ...form, message: "Again!" }]) await submitFeedback(one, sent)
  await submitFeedback(other, form)
  expect(await rowsOf(one)).toHaveLength(3)
  expect(await rowsOf(other)).toHaveLength(1)
})

test("the same message a day later creates a new row", async () => {
  const id = await owner()
  const form = { rating: 5, message: "Thanks" }
  await submitFeedback(id, form)
  await pool().query("UPDATE feedback SET created_at = now() - interval '25 hours' WHERE user_id = $1", [id])
  await submitFeedback(id, form)
  expect(await rowsOf(id)).toHaveLength(2)
})

test("feedback is limited per account, and others are unaffected", async () => {
  const id = await owner()
  for (let count = 0; count < limits.feedbackAccount.tokens; count++) await consume("feedbackAccount", id)
  const form = { rating: 1, message: "One more" }
  expect(await submitFeedback(id, form)).toMatchObject({ ok: false, reason: "too_many" })
  expect(await rowsOf(id)).toHaveLength(0)
  expect(await submitFeedback(await owner(), form)).toEqual({ ok: true })
})

test.each([
  ["no rating", { rating: "" }],
  ["a rating of zero", { rating: "0" }],
  ["a rating of six", { rating: "6" }],
  ["a rating and a half", { rating: "1.5" }],
  ["no message", { message: " \r\n " }],
  ["an invisible message", { message: "\u200b\u2800" }],
  ["a message with NUL", { message: "a\0" }],
  ["a message that is too long", { message: "x".repeat(feedbackMaxLength + 1) }],
  ["a status", { status: "resolved" }],
  ["an account id", { userId: "0199c0de-0000-7000-8000-000000000001" }],
])("the form refuses %s", (_what, fields) => {
  expect(feedbackForm.safeParse({ rating: "3", message: "Fine", ...fields }).success).toBe(false)
})

test("a message of the maximum length is accepted", () => {
  expect(feedbackForm.safeParse({ rating: "3", message: "x".repeat(feedbackMaxLength) }).success).toBe(true)
})

async function staff(role = "support") {
  return (await createUser({ role })).id as OwnerId
}

async function feedback() {
  const user = await createUser()
  const { id } = await db().feedback.create({ data: { userId: user.id, rating: 4, message: "Good" } })
  return { user, id }
}

test("feedback is reviewed and then resolved, each once and audited, and resolved feedback stays resolved", async () => {
  const [{ user, id }, actor] = [await feedback(), await staff()]
  for (const [change, changed, status] of [
    ["review", 1, "reviewed"],
    ["review", 0, "reviewed"],
    ["resolve", 1, "resolved"],
    ["review", 0, "resolved"],
  ] as const) {
    expect(await changeFeedback(change, actor, [id])).toEqual({ ok: true, changed })
    expect(await rowsOf(user.id)).toMatchObject([{ status }])
  }
  const entries = await db().auditEntry.findMany({ where: { targetId: user.id }, orderBy: { createdAt: "asc" } })
  expect(entries.map(({ action, actorId, details }) => [action, actorId, details])).toEqual([
    ["feedback.reviewed", actor, { feedbackId: id }],
    ["feedback.resolved", actor, { feedbackId: id }],
  ])
})

test("several pieces of feedback are resolved at once, each is audited, and resolved feedback is left", async () => {
  const [first, second, done, actor] = [await feedback(), await feedback(), await feedback(), await staff()]
  await changeFeedback("resolve", actor, [done.id])
  const ids = [first.id, second.id, done.id, randomUUID()]
  expect(await changeFeedback("resolve", actor, ids)).toEqual({ ok: true, changed: 2 })
  expect(await db().feedback.count({ where: { id: { in: ids }, status: "resolved" } })).toBe(3)
  const audited = await db().auditEntry.findMany({
    where: { targetId: { in: [first, second, done].map(({ user }) => user.id) } },
  })
  expect(audited.map(({ targetId, details }) => [targetId, details]).sort()).toEqual(
    [first, second, done].map(({ user, id }) => [user.id, { feedbackId: id }]).sort(),
  )
})

test("a reply is one email to the account however often its form arrives, and marks new feedback as reviewed", async () => {
  const { user, id } = await feedback()
  const form = replyForm.parse({ id, requestId: randomUUID(), reply: "Thank you.\n\nIt is mended." })
  Object.assign(env(), { DEMO: "on" })
  const author = await staff()
  const [first, second] = [await replyToFeedback(author, form), await replyToFeedback(await staff(), form)]
  Object.assign(env(), { DEMO: "off" })
  expect([first, second]).toEqual([
    { ok: true, repeated: false },
    { ok: true, repeated: true },
  ])
  expect(await db().email.findMany({ where: { userId: user.id } })).toMatchObject([
    { to: user.email, template: "feedback_reply", status: "sent" },
  ])
  expect(await rowsOf(user.id)).toMatchObject([
    { status: "reviewed", reply: form.reply, repliedById: author, repliedAt: expect.any(Date) },
  ])
  expect(await db().auditEntry.findMany({ where: { targetId: user.id } })).toMatchObject([
    { action: "feedback.replied", details: { feedbackId: id } },
  ])
})

test("a reply that is not sent is refused, changes nothing, is not audited, and can be sent again", async () => {
  const { user, id } = await feedback()
  const form = replyForm.parse({ id, requestId: randomUUID(), reply: "Thank you." })
  expect(await replyToFeedback(await staff(), form)).toEqual({ ok: false, reason: "not_sent" })
  expect(await rowsOf(user.id)).toMatchObject([{ status: "new", replyId: null, reply: null }])
  expect(await db().auditEntry.count({ where: { targetId: user.id } })).toBe(0)
  for (let count = 0; count < limits.emailsAddress.tokens; count++) await consume("emailsAddress", user.email)
  Object.assign(env(), { DEMO: "on" })
  expect(await replyToFeedback(await staff(), form)).toEqual({ ok: false, reason: "not_sent" })
  Object.assign(env(), { DEMO: "off" })
  const emails = await db().email.findMany({ where: { userId: user.id }, orderBy: { createdAt: "asc" } })
  expect(emails.map(({ status, error }) => [status, error])).toEqual([
    ["not_sent", null],
    ["not_sent", "limit"],
  ])
})

test("feedback that is resolved while a reply to it fails stays resolved", async () => {
  const [{ user, id }, actor] = [await feedback(), await staff()]
  vi.mocked(sendEmail).mockImplementationOnce(async () => {
    await changeFeedback("resolve", actor, [id])
    return false
  })
  const form = { id, requestId: randomUUID(), reply: "Thank you." }
  expect(await replyToFeedback(actor, form)).toEqual({ ok: false, reason: "not_sent" })
  expect(await rowsOf(user.id)).toMatchObject([{ status: "resolved" }])
})

test("of two replies that fail at once, both can be sent again", async () => {
  const [{ user, id }, actor] = [await feedback(), await staff()]
  const endings: ((isSent: boolean) => void)[] = []
  vi.mocked(sendEmail).mockImplementation(() => new Promise((end) => endings.push(end)))
  const replies: Promise<unknown>[] = []
  for (const count of [1, 2]) {
    replies.push(replyToFeedback(actor, { id, requestId: randomUUID(), reply: "Thank you." }))
    await vi.waitFor(() => expect(endings).toHaveLength(count))
  }
  for (const [index, reply] of replies.entries()) {
    endings[index]?.(false)
    expect(await reply).toEqual({ ok: false, reason: "not_sent" })
  }
  expect(await rowsOf(user.id)).toMatchObject([{ status: "new", replyId: null }])
})

test("a closed account gets no reply, and a member of staff sends a limited number", async () => {
  const [{ user, id }, actor] = [await feedback(), await staff()]
  const form = { id, requestId: randomUUID(), reply: "Thank you." }
  await db().user.update({ where: { id: user.id }, data: { status: "closed" } })
  expect(await replyToFeedback(actor, form)).toEqual({ ok: false, reason: "closed" })
  for (let count = 1; count < limits.repliesAccount.tokens; count++) await consume("repliesAccount", actor)
  expect(await replyToFeedback(actor, form)).toMatchObject({ ok: false, reason: "too_many" })
  expect(await db().email.count({ where: { userId: user.id } })).toBe(0)
})

test("staff who have lost the permission change and send nothing, and unknown feedback is refused", async () => {
  const { user, id } = await feedback()
  const form = replyForm.parse({ id, requestId: randomUUID(), reply: "Thank you." })
  const refused = { ok: false, reason: "not_permitted" }
  expect(await changeFeedback("resolve", await staff("analyst"), [id])).toEqual(refused)
  expect(await replyToFeedback(await staff("analyst"), form)).toEqual(refused)
  expect(await rowsOf(user.id)).toMatchObject([{ status: "new", replyId: null }])
  expect(await changeFeedback("review", await staff(), [randomUUID()])).toEqual({ ok: false, reason: "not_found" })
})
