import type { AuditAction } from "@/lib/audit/entries"

const operator = "Operator’s command"
const unknown = "Unknown person"
const deletion = "Scheduled deletion"

/** The actor of entries without an account. */
const actors: ReadonlyMap<string, string> = new Map<AuditAction, string>([
  ["user.sign_in_failed", unknown],
  ["user.proof_failed", unknown],
  ["user.passkey_refused", unknown],
  ["user.password_reset", operator],
  ["user.role_changed", operator],
  ["user.factors_reset", operator],
  ["user.erased", deletion],
  ["database.restored", operator],
])

const revokers = new Map([
  ["deletion", deletion],
  ["leak report", "Leak report"],
  ["restore", operator],
])

export function actorWithoutAccount({ action, details }: { action: string; details?: unknown }): string {
  const { via = "" } = (details ?? {}) as { via?: string }
  const named = action === "api_key.revoked" ? revokers.get(via) : actors.get(action)
  return named ?? "System"
}
