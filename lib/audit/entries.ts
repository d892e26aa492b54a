import type { Transaction } from "@/lib/platform/postgres/prisma"
import { signed } from "@/lib/platform/telemetry/evidence"
import { log } from "@/lib/platform/telemetry/log"
import { singletons } from "@/lib/singleton"
import * as yours from "@/lib/yours/audit"

export const auditActions = [
  "user.signed_up",
  "user.signed_in",
  "user.sign_in_failed",
  "user.signed_out",
  "user.proof_failed",
  "user.sessions_ended",
  "user.role_changed",
  "user.banned",
  "user.unbanned",
  "user.closed",
  "user.address_changed",
  "user.address_restored",
  "user.renamed",
  "user.picture_changed",
  "user.picture_removed",
  "user.noted",
  "user.top_up_changed",
  "user.exported",
  "user.deletion_requested",
  "user.deletion_undone",
  "user.erased",
  "user.password_changed",
  "user.password_reset",
  "user.provider_connected",
  "user.provider_disconnected",
  "user.passkey_added",
  "user.passkey_removed",
  "user.passkey_refused",
  "user.passkey_uncounted",
  "user.app_added",
  "user.app_removed",
  "user.recovery_codes_replaced",
  "user.recovery_code_used",
  "user.factors_reset",
  "credits.granted",
  "credits.deducted",
  "order.refunded",
  "order.recorded",
  "subscription.canceled",
  "payment_request.withdrawn",
  "api_key.issued",
  "api_key.rotated",
  "api_key.changed",
  "api_key.revoked",
  "feedback.reviewed",
  "feedback.resolved",
  "feedback.replied",
  "waitlist.invited",
  "database.restored",
  ...(Object.keys(yours.actions) as (keyof typeof yours.actions)[]),
] as const

export const auditTargets = ["user", "api_key", "waitlist_entry", "database", ...yours.targets] as const

export type AuditAction = (typeof auditActions)[number]

type AuditRecord = {
  /** `null`: the system, such as a script of the operator, or unknown. */
  actorId: string | null
  action: AuditAction
  targetType: (typeof auditTargets)[number]
  targetId: string
  /** Ids and network addresses, never names or email addresses: an entry outlives personal data that is erased. */
  details?: Record<string, string | number | boolean | null>
}

/** The log outlives a restore of the database. Not called in scripts, whose output is for the person who runs them. */
export function logAuditEntries(): void {
  singletons.auditEntriesLogged = true
}

/**
 * In the transaction of the action: both are committed or neither. A form can spell an id in upper case. Several records
 * are one statement, because a transaction has five seconds.
 */
export async function audit(transaction: Pick<Transaction, "auditEntry">, ...records: AuditRecord[]): Promise<void> {
  if (records.length === 0) return
  const data = records.map((record) => ({ ...record, targetId: record.targetId.toLowerCase() }))
  const entries = await transaction.auditEntry.createManyAndReturn({ data })
  if (!singletons.auditEntriesLogged) return
  for (const { id: entryId, action, actorId, targetType, targetId, details } of entries) {
    // Before the commit: a committed and later lost entry always has its line.
    const role = action === "user.role_changed" ? String((details as AuditRecord["details"])?.to) : undefined
    log().info(signed("audited", { entryId, action, actorId, targetType, targetId, role }), "audited")
  }
}
