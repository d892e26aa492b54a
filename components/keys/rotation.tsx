import { graces, preselectedGrace } from "@/lib/keys/choices"
import { RequestId, SelectField } from "../form/fields"
import { Notice } from "../notice"
import { Untrusted } from "../untrusted"
import type { CreateAction, Creation } from "./key-creation"

export type RotatableKey = {
  id: string
  name: string
  start: string
  /** When the key that it replaced stops working, if that one still works. */
  predecessorUntil: string | null
}

const choices = Object.fromEntries(Object.entries(graces).map(([grace, { label }]) => [grace, label]))

/** Names the key, and says what replaces it. */
export function rotation(
  { id, name, start, predecessorUntil }: RotatableKey,
  { rotate: action, requestId }: { rotate: CreateAction; requestId: string },
): Creation {
  return {
    title: "Rotate this key?",
    action,
    fields: (
      <>
        <p className="text-muted">
          <strong className="font-semibold text-ink wrap-anywhere">
            <Untrusted>{name}</Untrusted>
          </strong>{" "}
          (<code className="font-mono">{start}…</code>) is replaced by a new key with the same name, permissions, limits
          and lifetime. The new key is shown only once.
        </p>
        {predecessorUntil && (
          <Notice tone="warn">
            The previous key works until {predecessorUntil}. Revoke that one first, or choose that this one leaked.
          </Notice>
        )}
        <input type="hidden" name="id" value={id} />
        <RequestId id={requestId} />
        <SelectField
          label="How long the old key keeps working"
          name="grace"
          options={choices}
          defaultValue={preselectedGrace}
          hint="At most until its own expiry."
        />
      </>
    ),
    submit: "Rotate key",
  }
}
