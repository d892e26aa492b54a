import { sendEmail } from "@/lib/platform/email/send"
import { db } from "@/lib/platform/postgres/prisma"
import { log } from "@/lib/platform/telemetry/log"

type Account = { id: string; email: string }

/** Never throws: the key exists already. */
export function notifyOwnersOfNewKey(issuer: Account, start: string): Promise<void> {
  return emailOtherOwners(issuer, (owner) => sendEmail(owner, "admin_key_created", { email: issuer.email, start }))
}

/** Never throws: the key is revoked already. */
export function notifyOwnersOfLeakedKey(holder: Account, key: { id: string; start: string }): Promise<void> {
  return emailOtherOwners(holder, (owner) => sendEmail(owner, "admin_key_leaked", { email: holder.email, ...key }))
}

async function emailOtherOwners({ id }: Account, send: (owner: Account) => Promise<boolean>): Promise<void> {
  try {
    const owners = await db().user.findMany({ where: { role: "owner", status: "active", id: { not: id } } })
    // One after the other, so that they leave connections for requests.
    for (const owner of owners) await send(owner)
  } catch (error) {
    log().error({ why: String(error) }, "email_not_sent")
  }
}
