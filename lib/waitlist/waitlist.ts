import { z } from "zod"
import { emailAddress } from "@/lib/email/address"
import { plainParagraphs } from "@/lib/form/text"
import { isDatabaseUnavailable } from "@/lib/postgres/failures"
import { db, type Transaction } from "@/lib/postgres/prisma"
import { consume } from "@/lib/rate-limit/rate-limit"
import { waitlistSource } from "./source"

export const waitlistNoteMaxLength = 500

/** The waitlist form. An invalid source is replaced, because it comes from the link and not from the user. */
export const waitlistForm = z.strictObject({
  email: emailAddress,
  note: z
    .string()
    .transform((text) => (text.trim() === "" ? null : text))
    .pipe(plainParagraphs({ name: "The note", max: waitlistNoteMaxLength }).nullable()),
  source: waitlistSource.catch("website"),
})

export type WaitlistResult =
  | { ok: true }
  | { ok: false; reason: "too_many"; retryAfterSeconds: number }
  | { ok: false; reason: "unavailable" }

/**
 * Adds an address to the waitlist. An existing entry stays unchanged and gets the same response, so that the response
 * does not reveal who is on the list.
 */
export async function joinWaitlist(form: z.output<typeof waitlistForm>, address: string): Promise<WaitlistResult> {
  const verdict = await consume("waitlistAddress", address)
  if (!verdict.allowed) return { ok: false, reason: "too_many", retryAfterSeconds: verdict.resetSeconds }
  try {
    const accounts = await db().user.count({ where: { email: form.email } })
    const status = accounts > 0 ? "joined" : "waiting"
    await db().waitlistEntry.createMany({ data: { ...form, status }, skipDuplicates: true })
    return { ok: true }
  } catch (error) {
    // The page works without the database and shows the submitted values again.
    if (isDatabaseUnavailable(error)) return { ok: false, reason: "unavailable" }
    throw error
  }
}

/** Marks the waitlist entry of a new account as joined. */
export async function markJoined(transaction: Pick<Transaction, "waitlistEntry">, email: string): Promise<void> {
  await transaction.waitlistEntry.updateMany({ where: { email }, data: { status: "joined" } })
}
