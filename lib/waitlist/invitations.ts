import { z } from "zod"
import type { WaitlistEntry } from "@/generated/prisma/client"
import { audit } from "@/lib/audit/entries"
import { idIn, lockAccounts } from "@/lib/authority/authority"
import type { OwnerId } from "@/lib/authority/owner"
import { holds } from "@/lib/permissions"
import { sendEmail } from "@/lib/platform/email/send"
import { db } from "@/lib/platform/postgres/prisma"
import { hidden } from "@/lib/platform/schemas/form-fields"

export const invitation = z.object({ id: hidden(z.uuid()) })

type InviteResult =
  /** `invited` is false if the address has joined, or was invited less than a day ago. */
  { ok: true; invited: boolean; email: string } | { ok: false; reason: "not_permitted" | "not_found" | "not_sent" }

/** A day later the address can be invited again, because an email can be lost. */
export async function invite(actorId: OwnerId, id: string): Promise<InviteResult> {
  const taken = await take(actorId, id)
  if ("reason" in taken) return { ok: false, reason: taken.reason }
  const { email, status, invitedAt, isDue } = taken
  if (!isDue) return { ok: true, invited: false, email }
  if (!(await sendEmail({ id: null, email }, "waitlist_invite", { email }))) {
    await db().waitlistEntry.updateMany({ where: { id, status: "invited" }, data: { status, invitedAt } })
    return { ok: false, reason: "not_sent" }
  }
  await audit(db(), { actorId, action: "waitlist.invited", targetType: "waitlist_entry", targetId: id })
  return { ok: true, invited: true, email }
}

type Taken = Pick<WaitlistEntry, "email" | "status" | "invitedAt"> & { isDue: boolean }

/** Of two invitations at once, one is sent. Returns the entry as it was before. */
function take(actorId: OwnerId, id: string): Promise<Taken | { reason: "not_permitted" | "not_found" }> {
  return db().$transaction(async (transaction) => {
    const [actor] = await lockAccounts(transaction, idIn(actorId))
    if (actor?.status !== "active" || !holds(actor.role, "waitlist.manage")) return { reason: "not_permitted" }
    const [entry] = await transaction.$queryRaw<Taken[]>`
      SELECT email, status::text, invited_at AS "invitedAt",
             status = 'waiting' OR status = 'invited' AND invited_at < now() - interval '1 day' AS "isDue"
      FROM waitlist_entries WHERE id = ${id}::uuid FOR UPDATE`
    if (!entry) return { reason: "not_found" }
    if (entry.isDue) {
      await transaction.$executeRaw`
        UPDATE waitlist_entries SET status = 'invited', invited_at = now() WHERE id = ${id}::uuid`
    }
    return entry
  })
}

export async function findEntry(id: string) {
  return z.uuid().safeParse(id).success ? db().waitlistEntry.findUnique({ where: { id } }) : null
}
