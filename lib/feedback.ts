import { z } from "zod"
import type { FeedbackStatus } from "@/generated/prisma/enums"
import { type AuditAction, audit } from "@/lib/audit/entries"
import { idIn, lockAccounts } from "@/lib/authority/authority"
import type { OwnerId } from "@/lib/authority/owner"
import { holds } from "@/lib/permissions"
import { sendEmail } from "@/lib/platform/email/send"
import { db, type Transaction } from "@/lib/platform/postgres/prisma"
import { consume } from "@/lib/platform/rate-limit/rate-limit"
import { hidden, requestId, rowIds } from "@/lib/platform/schemas/form-fields"
import { isUuid, plainParagraphs } from "@/lib/platform/schemas/text"

const ratings = [1, 2, 3, 4, 5] as const

export const feedbackMaxLength = 2_000

export const feedbackForm = z.strictObject({
  rating: z.enum(ratings.map(String), { error: "Choose a rating." }).transform(Number),
  message: plainParagraphs({ name: "The message", max: feedbackMaxLength }),
})

type FeedbackResult = { ok: true } | { ok: false; reason: "too_many"; retryAfterSeconds: number }

/** An account's repeated message and rating within a day are one form submitted twice. */
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

export const feedbackIds = z.object({ id: rowIds })

export const replyForm = z.object({
  id: hidden(z.uuid()),
  requestId,
  reply: plainParagraphs({ name: "The reply", max: feedbackMaxLength }),
})

const statusChanges = {
  review: { from: ["new"], to: "reviewed", action: "feedback.reviewed" },
  resolve: { from: ["new", "reviewed"], to: "resolved", action: "feedback.resolved" },
} as const satisfies Record<string, { from: readonly FeedbackStatus[]; to: FeedbackStatus; action: AuditAction }>

export type FeedbackChange = keyof typeof statusChanges

type Refused = { ok: false; reason: "not_permitted" | "not_found" }

/** @returns how many were changed: the others had been */
export function changeFeedback(
  change: FeedbackChange,
  actorId: OwnerId,
  ids: readonly string[],
): Promise<{ ok: true; changed: number } | Refused> {
  const { from, to, action } = statusChanges[change]
  return asManager(actorId, ids, async (transaction, found) => {
    const changed = found.filter(({ status }) => (from as readonly FeedbackStatus[]).includes(status))
    await transaction.feedback.updateMany({ where: { id: { in: changed.map(({ id }) => id) } }, data: { status: to } })
    await audit(transaction, ...changed.map((feedback) => ({ actorId, action, ...about(feedback) })))
    return { ok: true, changed: changed.length } as const
  })
}

type ReplyResult =
  | { ok: true; repeated: boolean }
  | Refused
  | { ok: false; reason: "closed" | "not_sent" }
  | Extract<FeedbackResult, { ok: false }>

/** Marks feedback as reviewed after the email, so that feedback whose reply was lost is still new. */
export async function replyToFeedback(
  actorId: OwnerId,
  { id, requestId: replyId, reply }: z.output<typeof replyForm>,
): Promise<ReplyResult> {
  const verdict = await consume("repliesAccount", actorId)
  if (!verdict.allowed) return { ok: false, reason: "too_many", retryAfterSeconds: verdict.resetSeconds }
  const taken = await asManager(actorId, [id], async (transaction, [feedback]) => {
    if (feedback.user.status === "closed") return { ok: false, reason: "closed" } as const
    if (feedback.replyId === replyId) return { ok: true, feedback: null } as const
    await transaction.feedback.update({ where: { id }, data: { replyId } })
    return { ok: true, feedback } as const
  })
  if (!taken.ok) return taken
  if (!taken.feedback) return { ok: true, repeated: true }
  const { user, createdAt: sentAt, message } = taken.feedback
  if (!(await sendEmail(user, "feedback_reply", { sentAt, message, reply }))) {
    await db().feedback.updateMany({ where: { id, replyId }, data: { replyId: null } })
    return { ok: false, reason: "not_sent" }
  }
  await db().$transaction(async (transaction) => {
    await transaction.$executeRaw`
      UPDATE feedback SET reply = ${reply}, replied_by_id = ${actorId}::uuid, replied_at = now(),
        status = CASE status WHEN 'new' THEN 'reviewed' ELSE status END
      WHERE id = ${id}::uuid`
    await audit(transaction, { actorId, action: "feedback.replied", ...about(taken.feedback) })
  })
  return { ok: true, repeated: false }
}

function about({ id, userId }: { id: string; userId: string }) {
  return { targetType: "user", targetId: userId, details: { feedbackId: id } } as const
}

function asManager<Result>(
  actorId: OwnerId,
  ids: readonly string[],
  work: (transaction: Transaction, feedback: [Found, ...Found[]]) => Promise<Result>,
): Promise<Result | Refused> {
  return db().$transaction(async (transaction): Promise<Result | Refused> => {
    const [actor] = await lockAccounts(transaction, idIn(actorId))
    if (actor?.status !== "active" || !holds(actor.role, "feedback.manage"))
      return { ok: false, reason: "not_permitted" }
    await transaction.$executeRaw`SELECT FROM feedback WHERE id = ANY (${ids}::uuid[]) ORDER BY id FOR UPDATE`
    const [first, ...others] = await find(transaction, ids)
    return first ? work(transaction, [first, ...others]) : { ok: false, reason: "not_found" }
  })
}

type Found = Awaited<ReturnType<typeof find>>[number]

function find(transaction: Pick<Transaction, "feedback">, ids: readonly string[]) {
  const include = { user: { select: { id: true, email: true, status: true } } } as const
  return transaction.feedback.findMany({ where: { id: { in: [...ids] } }, include, orderBy: { createdAt: "desc" } })
}

export function findFeedback(ids: readonly string[]) {
  return find(db(), ids.filter(isUuid))
}
