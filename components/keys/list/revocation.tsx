import type { Confirmation } from "@/components/confirm/confirm-form"
import { CheckboxesField, SelectField } from "@/components/form/fields"
import { Untrusted } from "@/components/untrusted"
import type { FormAction, Message } from "@/lib/form/action"
import { replacedReason, revocationReasons } from "@/lib/keys/choices"

type RevocableKey = {
  id: string
  name: string
  start: string
  /** Relative time; empty if the key was never used. */
  used: string
  /** When the key that it replaced stops working, if that one still works. */
  predecessorUntil: string | null
  /** The key that replaced it. */
  successor: { start: string; used: string } | null
}

export type RevokeAction = FormAction<"id" | "reason" | "replaced", Message>

/** Names the key and its last use, also those of a key that replaced it, and says what revoking it does. */
export function revocation(
  { id, name, start, used, predecessorUntil, successor }: RevocableKey,
  action: RevokeAction,
): Confirmation {
  return {
    title: "Revoke this key?",
    description: (
      <>
        <strong className="font-semibold text-ink wrap-anywhere">
          <Untrusted>{name}</Untrusted>
        </strong>{" "}
        (<code className="font-mono">{start}…</code>) {inUse(used)}{" "}
        {successor && (
          <>
            The key that replaced it, <code className="font-mono">{successor.start}…</code>, {inUse(
              successor.used,
            )}{" "}
          </>
        )}
        From now on, every request with this key is rejected. This cannot be undone.
      </>
    ),
    action,
    fields: (
      <>
        <input type="hidden" name="id" value={id} />
        <RevocationReasonField isReplaced={successor !== null} />
        {predecessorUntil && (
          <CheckboxesField
            name="replaced"
            label={`The key that it replaced works until ${predecessorUntil}.`}
            options={{ revoke: "Revoke that key, too" }}
          />
        )}
      </>
    ),
    submit: "Revoke key",
    kind: "danger",
  }
}

function inUse(used: string): string {
  return used ? `was last used ${used}.` : "was never used."
}

export function RevocationReasonField({ isReplaced = false }: { isReplaced?: boolean }) {
  const options = isReplaced ? { ...revocationReasons, not_needed: replacedReason } : revocationReasons
  return <SelectField label="Reason" name="reason" options={options} defaultValue="not_needed" />
}
