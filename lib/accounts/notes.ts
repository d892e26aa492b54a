import { z } from "zod"
import { audit } from "@/lib/audit/entries"
import { idIn, lockAccounts } from "@/lib/authority/authority"
import type { OwnerId } from "@/lib/authority/owner"
import { holds } from "@/lib/permissions"
import { db } from "@/lib/platform/postgres/prisma"
import { consume } from "@/lib/platform/rate-limit/rate-limit"
import { hidden, requestId } from "@/lib/platform/schemas/form-fields"
import { plainParagraphs } from "@/lib/platform/schemas/text"

export const noteMaxLength = 2_000

export const noteForm = z.object({
  id: hidden(z.uuid()),
  requestId,
  text: plainParagraphs({ name: "The note", max: noteMaxLength }),
})

type NoteResult =
  | { ok: true }
  | { ok: false; reason: "not_permitted" | "not_found" | "oneself" | "deleted" }
  | { ok: false; reason: "too_many"; retryAfterSeconds: number }

export async function addNote(
  authorId: OwnerId,
  { id: userId, requestId: id, text }: z.output<typeof noteForm>,
): Promise<NoteResult> {
  if (userId === authorId) return { ok: false, reason: "oneself" }
  const verdict = await consume("notesAccount", authorId)
  if (!verdict.allowed) return { ok: false, reason: "too_many", retryAfterSeconds: verdict.resetSeconds }
  return db().$transaction(async (transaction): Promise<NoteResult> => {
    const accounts = await lockAccounts(transaction, idIn(authorId, userId))
    const author = accounts.find(({ id }) => id === authorId)
    if (author?.status !== "active" || !holds(author.role, "notes.manage"))
      return { ok: false, reason: "not_permitted" }
    if (!accounts.some(({ id }) => id === userId)) return { ok: false, reason: "not_found" }
    const deletion = await transaction.accountDeletion.findUnique({ where: { userId } })
    if (deletion?.startedAt) return { ok: false, reason: "deleted" }
    const data = { id, userId, authorId, text }
    const { count } = await transaction.accountNote.createMany({ data, skipDuplicates: true })
    const entry = { actorId: authorId, action: "user.noted", targetType: "user", targetId: userId } as const
    if (count > 0) await audit(transaction, entry)
    return { ok: true }
  })
}

export type Note = { id: string; text: string; createdAt: Date; authorId: string }

/** Nobody reads the notes about themselves. */
export async function notesAbout(userId: string, readerId: OwnerId): Promise<Note[] | undefined> {
  if (userId === readerId) return undefined
  return db().accountNote.findMany({
    where: { userId },
    orderBy: [{ createdAt: "desc" }, { id: "desc" }],
    take: 50,
  })
}
