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

/**
 * A day later an address can be invited again, because an email can be lost. After an error, the entries that were not
 * reached can be invited at once.
 */
export async function invite(actorId: OwnerId, ids: readonly string[]): Promise<InviteResult> {
  const invited: string[] = []
  const others: string[] = []
  const notSent: string[] = []
  for (let start = 0; start < ids.length; start += emailsAtOnce) {
    const taken = await take(actorId, ids.slice(start, start + emailsAtOnce))
    if (taken === "not_permitted") return { ok: false, reason: taken }
    const due = taken.filter(({ isDue }) => isDue)
    const sent = await send(actorId, due)
    for (const entry of taken) (sent.has(entry) ? invited : entry.isDue ? notSent : others).push(entry.email)
  }
  const found = invited.length + others.length + notSent.length
  return found === 0 ? { ok: false, reason: "not_found" } : { ok: true, invited, others, notSent }
}

type Taken = Pick<WaitlistEntry, "id" | "email" | "status" | "invitedAt"> & { isDue: boolean }

/** Sends the emails and audits the sent ones; the other entries wait again. */
async function send(actorId: OwnerId, due: readonly Taken[]): Promise<ReadonlySet<Taken>> {
  const emails = await Promise.allSettled(
    due.map(({ email }) => sendEmail({ id: null, email }, "waitlist_invite", { email })),
  )
  const isSent = (_: Taken, index: number) => emails[index]?.status === "fulfilled" && emails[index].value
  const sent = new Set(due.filter(isSent))
  for (const entry of due) {
    const { id, status, invitedAt } = entry
    if (sent.has(entry)) continue
    await db().waitlistEntry.updateMany({ where: { id, status: "invited" }, data: { status, invitedAt } })
  }
  const about = { actorId, action: "waitlist.invited", targetType: "waitlist_entry" } as const
  await audit(db(), ...[...sent].map(({ id }) => ({ ...about, targetId: id })))
  for (const email of emails) if (email.status === "rejected") throw email.reason
  return sent
}

/** Of two invitations at once, one is sent. Returns the entries as they were before. */
function take(actorId: OwnerId, ids: readonly string[]): Promise<Taken[] | "not_permitted"> {
  return db().$transaction(async (transaction) => {
    const [actor] = await lockAccounts(transaction, idIn(actorId))
    if (actor?.status !== "active" || !holds(actor.role, "waitlist.manage")) return "not_permitted"
    const entries = await transaction.$queryRaw<Taken[]>`
      SELECT id, email, status::text, invited_at AS "invitedAt",
             status = 'waiting' OR status = 'invited' AND invited_at < now() - interval '1 day' AS "isDue"
      FROM waitlist_entries WHERE id = ANY (${ids}::uuid[]) ORDER BY id FOR UPDATE`
    const due = entries.flatMap(({ id, isDue }) => (isDue ? [id] : []))
    await transaction.$executeRaw`
      UPDATE waitlist_entries SET status = 'invited', invited_at = now() WHERE id = ANY (${due}::uuid[])`
    return entries
  })
}

export function findEntries(ids: readonly string[]) {
  return db().waitlistEntry.findMany({ where: { id: { in: ids.filter(isUuid) } }, orderBy: { createdAt: "desc" } })
}
