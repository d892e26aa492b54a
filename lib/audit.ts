import type { Transaction } from "./postgres/prisma"

export type AuditAction =
  | "user.signed_up"
  | "user.signed_in"
  | "user.role_changed"
  | "user.banned"
  | "user.unbanned"
  | "user.closed"
  | "user.password_changed"
  | "user.password_reset"
  | "credits.granted"
  | "credits.deducted"
  | "api_key.issued"
  | "api_key.revoked"

export type AuditRecord = {
  /** Who did it; `null` for the system itself, such as a script run by the operator. */
  actorId: string | null
  action: AuditAction
  targetType: "user" | "api_key"
  targetId: string
  details?: Record<string, string | number | boolean | null>
}

/** Writes an entry in the transaction of the deed itself, so that neither stands without the other. */
export async function audit(transaction: Pick<Transaction, "auditEntry">, record: AuditRecord): Promise<void> {
  await transaction.auditEntry.create({ data: record })
}
