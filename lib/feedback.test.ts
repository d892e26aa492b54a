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
