import type { OwnerId } from "@/lib/accounts/owner"
import type { AuditAction } from "@/lib/audit"
import { db } from "@/lib/postgres/prisma"
import { providerName } from "./providers"

/** An entry of the audit log as the account it is about reads it. */
export type Activity = {
  id: string
  /** Neither names staff nor quotes what they typed. */
  sentence: string
  address: string | null
  createdAt: Date
}

type Found = {
  id: string
  action: keyof typeof sentences
  /** Who acted. */
  by: "you" | "staff"
  /** The name of the key that the entry is about. */
  keyName: string | null
  details: {
    via?: string
    address?: string
    reason?: string
    from?: string
    to?: string
    count?: number
    provider?: string
  }
  createdAt: Date
}

/** Credits are in the ledger. */
const sentences: Record<Exclude<AuditAction, `credits.${string}`>, (entry: Found) => string> = {
  "user.signed_up": () => "Account created",
  "user.signed_in": ({ details: { via } }) => `Signed in${wayIn(via)}`,
  "user.sign_in_failed": ({ details: { via, reason } }) =>
    `Sign-in${wayIn(via)} failed: ${reason === "wrong" ? "wrong password" : "the account was suspended"}`,
  "user.signed_out": () => "Signed out",
  "user.sessions_ended": ({ details: { count } }) => `Signed out ${count === 1 ? "a browser" : `${count} browsers`}`,
  "user.role_changed": ({ details: { from, to }, by }) => `Role changed from ${from} to ${to} by ${by}`,
  "user.banned": ({ by }) => `Account suspended by ${by}`,
  "user.unbanned": ({ by }) => `Suspension ended by ${by}`,
  "user.closed": ({ by }) => `Account closed by ${by}`,
  "user.renamed": () => "Name changed",
  "user.address_changed": () => "Email address changed",
  "user.address_restored": () => "Change of email address undone",
  "user.provider_connected": ({ details: { provider = "" } }) => `${providerName(provider)} connected`,
  "user.provider_disconnected": ({ details: { provider = "" } }) => `${providerName(provider)} disconnected`,
  "user.password_changed": () => "Password changed",
  "user.password_reset": ({ by }) => `Password reset by ${by}`,
  "api_key.issued": ({ keyName, by }) => `Key “${keyName}” created by ${by}`,
  "api_key.rotated": ({ keyName, by }) => `Key “${keyName}” rotated by ${by}`,
  "api_key.changed": ({ keyName, by }) => `Key “${keyName}” changed by ${by}`,
  "api_key.revoked": ({ keyName, by }) => `Key “${keyName}” revoked by ${by}`,
}

function wayIn(via: string | undefined): string {
  return via ? ` by ${via}` : ""
}

const failedSignIn: AuditAction = "user.sign_in_failed"

/**
 * The last 20 entries about the account and its keys. At most 5 are failed sign-ins: anybody can cause those, and would
 * hide all others. Only the 20 keys that were created or revoked last count, so an account with thousands of keys is
 * read as fast.
 */
export async function recentActivity(userId: OwnerId): Promise<Activity[]> {
  const others = Object.keys(sentences).filter((action) => action !== failedSignIn)
  const found = await db().$queryRaw<Found[]>`
    WITH targets AS (
      SELECT ${userId}::text AS id, NULL AS key_name, ${others}::text[] AS actions, 20 AS entries
      UNION ALL
      SELECT ${userId}::text, NULL, ${[failedSignIn]}::text[], 5
      UNION ALL (
        SELECT id::text, name, ${others}::text[], 20 FROM api_keys WHERE user_id = ${userId}::uuid
        ORDER BY greatest(created_at, revoked_at) DESC LIMIT 20))
    SELECT entry.id, action, CASE WHEN actor_id = ${userId}::uuid THEN 'you' ELSE 'staff' END AS by,
      key_name AS "keyName", details, entry.created_at AS "createdAt"
    FROM targets, LATERAL (
      SELECT * FROM audit_entries WHERE target_id = targets.id AND action = ANY (targets.actions)
      ORDER BY created_at DESC, id DESC LIMIT targets.entries) entry
    ORDER BY entry.created_at DESC, entry.id DESC LIMIT 20`
  return found.map((entry) => {
    const { id, action, details, createdAt } = entry
    return { id, sentence: sentences[action](entry), address: details.address ?? null, createdAt }
  })
}
