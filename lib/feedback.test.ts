import { expect, test } from "vitest"
import { createUser } from "@/tests/support/factories"
import type { OwnerId } from "./accounts/owner"
import { feedbackForm, feedbackMaxLength, submitFeedback } from "./feedback"
import { pool } from "./postgres/pool"
import { db } from "./postgres/prisma"
import { consume, limits } from "./rate-limit/rate-limit"

async function owner(): Promise<OwnerId> {
  return (await createUser()).id as OwnerId
}

function rowsOf(userId: string) {
  return db().feedback.findMany({ where: { userId }, orderBy: [{ createdAt: "asc" }, { id: "asc" }] })
}

test("feedback is kept as a new row of its account, its lines as they were typed", async () => {
  const id = await owner()
  expect(await submitFeedback(id, feedbackForm.parse({ rating: "4", message: " Good.\r\n\r\nMore! " }))).toEqual({
    ok: true,
  })
  expect(await rowsOf(id)).toMatchObject([{ userId: id, rating: 4, message: "Good.\n\nMore!", status: "new" }])
})

test("one form sent several times at once is one row", async () => {
  const form = { rating: 2, message: "Again" }
  // Several rounds: only connections that are open already really meet.
  for (let round = 0; round < 5; round++) {
    const id = await owner()
    await Promise.all(Array.from({ length: 8 }, () => submitFeedback(id, form)))
    expect(await rowsOf(id)).toHaveLength(1)
  }
})

test("other words, another rating and another account are feedback of their own", async () => {
  const [one, other] = [await owner(), await owner()]
  const form = { rating: 2, message: "Again" }
  for (const said of [form, { ...form, rating: 3 }, { ...form, message: "Again!" }]) await submitFeedback(one, said)
  await submitFeedback(other, form)
  expect(await rowsOf(one)).toHaveLength(3)
  expect(await rowsOf(other)).toHaveLength(1)
})

test("the same words a day later are said anew", async () => {
  const id = await owner()
  const form = { rating: 5, message: "Thanks" }
  await submitFeedback(id, form)
  await pool().query("UPDATE feedback SET created_at = now() - interval '25 hours' WHERE user_id = $1", [id])
  await submitFeedback(id, form)
  expect(await rowsOf(id)).toHaveLength(2)
})

test("an account gives a limited amount of feedback an hour, and others are unaffected", async () => {
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
  ["a message nobody can see", { message: "\u200b\u2800" }],
  ["a message with NUL", { message: "a\0" }],
  ["a message that is too long", { message: "x".repeat(feedbackMaxLength + 1) }],
  ["a status of one's own choice", { status: "resolved" }],
  ["another account", { userId: "0199c0de-0000-7000-8000-000000000001" }],
])("the form refuses %s", (_what, fields) => {
  expect(feedbackForm.safeParse({ rating: "3", message: "Fine", ...fields }).success).toBe(false)
})

test("a message may have every one of its characters", () => {
  expect(feedbackForm.safeParse({ rating: "3", message: "x".repeat(feedbackMaxLength) }).success).toBe(true)
})
