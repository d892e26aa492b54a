import { z } from "zod"
import type { OwnerId } from "./accounts/owner"
import { plainParagraphs } from "./input/text"
import { db } from "./postgres/prisma"
import { consume } from "./rate-limit/rate-limit"

const ratings = [1, 2, 3, 4, 5] as const

export const feedbackMaxLength = 2_000

export const feedbackForm = z.strictObject({
  rating: z.enum(ratings.map(String), { error: "Choose a rating." }).transform(Number),
  message: plainParagraphs({ name: "The message", max: feedbackMaxLength }),
})

export type FeedbackResult = { ok: true } | { ok: false; reason: "too_many"; retryAfterSeconds: number }

/** Stores feedback. The same message and rating of an account within a day are one form submitted twice: one row. */
export async function submitFeedback(owner: OwnerId, form: z.output<typeof feedbackForm>): Promise<FeedbackResult> {
  const verdict = await consume("feedbackAccount", owner)
  if (!verdict.allowed) return { ok: false, reason: "too_many", retryAfterSeconds: verdict.resetSeconds }
  await db().$transaction(async (transaction) => {
    // Locks the owner's row, so that of two concurrent submissions the second sees the first.
    const [{ yesterday }] = await transaction.$queryRaw<[{ yesterday: Date }]>`
      SELECT now() - interval '1 day' AS yesterday FROM users WHERE id = ${owner}::uuid FOR UPDATE`
    const same = { ...form, userId: owner, createdAt: { gt: yesterday } }
    if (await transaction.feedback.findFirst({ where: same })) return
    await transaction.feedback.create({ data: { ...form, userId: owner } })
  })
  return { ok: true }
}
