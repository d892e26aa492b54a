import type { Owner } from "@/lib/accounts/owner"
import { sendEmail } from "@/lib/email/send"
import { db } from "@/lib/postgres/prisma"
import { log } from "@/lib/telemetry/log"

/** Sends an email about a new admin key to every active owner but its issuer. Never throws: the key exists already. */
export async function reportNewAdminKey(issuer: Pick<Owner, "id" | "email">, start: string): Promise<void> {
  try {
    const owners = await db().user.findMany({ where: { role: "owner", status: "active", id: { not: issuer.id } } })
    // One after the other, so that they leave connections for requests.
    for (const owner of owners) await sendEmail(owner, "admin_key_created", { email: issuer.email, start })
  } catch (error) {
    log().error({ why: String(error) }, "email_not_sent")
  }
}
