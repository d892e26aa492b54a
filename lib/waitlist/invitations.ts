import { z } from "zod"
import type { WaitlistEntry } from "@/generated/prisma/client"
import { audit } from "@/lib/audit/entries"
import { idIn, lockAccounts } from "@/lib/authority/authority"
import type { OwnerId } from "@/lib/authority/owner"
import { holds } from "@/lib/permissions"
import { sendEmail } from "@/lib/platform/email/send"
import { db } from "@/lib/platform/postgres/prisma"
import { rowIds } from "@/lib/platform/schemas/form-fields"
import { isUuid } from "@/lib/platform/schemas/text"

export const invitation = z.object({ id: rowIds })

type InviteResult =
  /** The others have joined, or were invited less than a day ago. */
  | { ok: true; invited: string[]; others: string[]; notSent: string[] }
  | { ok: false; reason: "not_permitted" | "not_found" }

const emailsAtOnce = 10

/** A day later an address can be invited again, because an email can be lost. */
export async function invite(actorId: OwnerId, ids: readonly string[]): Promise<InviteResult> {
  const taken = await take(actorId, ids)
  if ("reason" in taken) return { ok: false, reason: taken.reason }
  const due = taken.filter(({ isDue }) => isDue)
  const sent: Taken[] = []
  for (let start = 0; start < due.length; start += emailsAtOnce) {
    const emails = due.slice(start, start + emailsAtOnce).map(async (entry) => ((await send(entry)) ? [entry] : []))
    const invited = (await Promise.all(emails)).flat()
    const about = { actorId, action: "waitlist.invited", targetType: "waitlist_entry" } as const
    await audit(db(), ...invited.map(({ id }) => ({ ...about, targetId: id })))
    sent.push(...invited)
  }
  const addresses = (entries: readonly Taken[]) => entries.map(({ email }) => email)
  return {
    ok: true,
    invited: addresses(sent),
    others: addresses(taken.filter(({ isDue }) => !isDue)),
    notSent: addresses(due.filter((entry) => !sent.includes(entry))),
  }
}

type Taken = Pick<WaitlistEntry, "id" | "email" | "status" | "invitedAt"> & { isDue: boolean }

async function send({ id, email, status, invitedAt }: Taken): Promise<boolean> {
  const isSent = await sendEmail({ id: null, email }, "waitlist_invite", { email })
  if (!isSent) await db().waitlistEntry.updateMany({ where: { id, status: "invited" }, data: { status, invitedAt } })
  return isSent
}

/** Of two invitations at once, one is sent. Returns the entries as they were before. */
function take(actorId: OwnerId, ids: readonly string[]): Promise<Taken[] | { reason: "not_permitted" | "not_found" }> {
  return db().$transaction(async (transaction) => {
    const [actor] = await lockAccounts(transaction, idIn(actorId))
    if (actor?.status !== "active" || !holds(actor.role, "waitlist.manage")) return { reason: "not_permitted" }
    const entries = await transaction.$queryRaw<Taken[]>`
      SELECT id, email, status::text, invited_at AS "invitedAt",
             status = 'waiting' OR status = 'invited' AND invited_at < now() - interval '1 day' AS "isDue"
      FROM waitlist_entries WHERE id = ANY (${ids}::uuid[]) ORDER BY id FOR UPDATE`
    if (entries.length === 0) return { reason: "not_found" }
    const due = entries.flatMap(({ id, isDue }) => (isDue ? [id] : []))
    await transaction.$executeRaw`
      UPDATE waitlist_entries SET status = 'invited', invited_at = now() WHERE id = ANY (${due}::uuid[])`
    return entries
  })
}

export function findEntries(ids: readonly string[]) {
  return db().waitlistEntry.findMany({ where: { id: { in: ids.filter(isUuid) } }, orderBy: { createdAt: "desc" } })
}
