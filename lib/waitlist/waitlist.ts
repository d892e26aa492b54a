import { z } from "zod"
import { emailAddress } from "@/lib/email/address"
import { plainParagraphs } from "@/lib/form/text"
import { isDatabaseUnavailable } from "@/lib/postgres/failures"
import { db, type Transaction } from "@/lib/postgres/prisma"
import { consume } from "@/lib/rate-limit/rate-limit"
import { waitlistSource } from "./source"

export const waitlistNoteMaxLength = 500

/** What the form sends. A source that is none is no mistake of the person who fills it in. */
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
 * Puts an address on the waitlist. One that stands there already stays as it is, and nothing that comes back tells the
 * two apart: the list would otherwise say who is on it.
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
    // The page itself needs no database: what was typed is shown again.
    if (isDatabaseUnavailable(error)) return { ok: false, reason: "unavailable" }
    throw error
  }
}

/** For the sign-up: who waited under this address has an account now. */
export async function markJoined(transaction: Pick<Transaction, "waitlistEntry">, email: string): Promise<void> {
  await transaction.waitlistEntry.updateMany({ where: { email }, data: { status: "joined" } })
}
