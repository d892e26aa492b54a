import type { FormAction, Message } from "@/lib/form/action"
import { revocationReasons } from "@/lib/keys/choices"
import type { Confirmation } from "../confirm/confirm-form"
import { CheckboxesField, SelectField } from "../form/fields"
import { Untrusted } from "../untrusted"

export type RevocableKey = {
  id: string
  name: string
  start: string
  /** Relative time; empty if the key was never used. */
  used: string
  /** When the key that it replaced stops working, if that one still works. */
  predecessorUntil: string | null
}

export type RevokeAction = FormAction<"id" | "reason" | "replaced", Message>

/** Names the key and its last use, and says what revoking it does. */
export function revocation(
  { id, name, start, used, predecessorUntil }: RevocableKey,
  action: RevokeAction,
): Confirmation {
  return {
    title: "Revoke this key?",
    description: (
      <>
        <strong className="font-semibold text-ink wrap-anywhere">
          <Untrusted>{name}</Untrusted>
        </strong>{" "}
        (<code className="font-mono">{start}…</code>) {used ? `was last used ${used}.` : "was never used."} From now on,
        every request with this key is rejected. This cannot be undone.
      </>
    ),
    action,
    fields: (
      <>
        <input type="hidden" name="id" value={id} />
        <RevocationReasonField />
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

export function RevocationReasonField() {
  return <SelectField label="Reason" name="reason" options={revocationReasons} defaultValue="not_needed" />
}
