import { z } from "zod"
import { Prisma } from "@/generated/prisma/client"
import { emailAddress } from "@/lib/platform/email/address"
import { deletedAddress } from "@/lib/platform/email/deleted-address"
import { db, type Transaction } from "@/lib/platform/postgres/prisma"
import { consume } from "@/lib/platform/rate-limit/rate-limit"
import { hidden, optional } from "@/lib/platform/schemas/form-fields"
import { plainParagraphs } from "@/lib/platform/schemas/text"
import { waitlistSource } from "./source"

export const waitlistNoteMaxLength = 500

/** An invalid source is replaced, because it comes from the link and not from the user. */
export const waitlistForm = z.strictObject({
  email: emailAddress,
  note: optional(plainParagraphs({ name: "The note", max: waitlistNoteMaxLength })),
  source: hidden(waitlistSource.catch("website")),
})

type WaitlistResult = { ok: true } | { ok: false; reason: "too_many"; retryAfterSeconds: number }

/** An existing entry gets the same response, so that the response does not reveal who is on the list. */
export async function joinWaitlist(form: z.output<typeof waitlistForm>, address: string): Promise<WaitlistResult> {
  const verdict = await consume("waitlistAddress", address)
  if (!verdict.allowed) return { ok: false, reason: "too_many", retryAfterSeconds: verdict.resetSeconds }
  const accounts = await db().user.count({ where: { email: form.email } })
  const status = accounts > 0 ? "joined" : "waiting"
  await db().waitlistEntry.createMany({ data: { ...form, status }, skipDuplicates: true })
  return { ok: true }
}

export async function markJoined(transaction: Pick<Transaction, "waitlistEntry">, email: string): Promise<void> {
  await transaction.waitlistEntry.updateMany({ where: { email }, data: { status: "joined" } })
}

export async function forgetEntry(transaction: Pick<Transaction, "$executeRaw">, email: string): Promise<void> {
  await transaction.$executeRaw`
    UPDATE waitlist_entries SET email = ${Prisma.raw(deletedAddress)}, note = NULL WHERE email = ${email}`
}
