import { RequestId, SelectField } from "@/components/form/fields"
import { Notice } from "@/components/notice"
import { Untrusted } from "@/components/untrusted"
import { graces, preselectedGrace } from "@/lib/keys/choices"
import type { CreateAction, Creation } from "../create/key-creation"

type RotatableKey = {
  id: string
  name: string
  start: string
  /** When the key that it replaced stops working, if that one still works. */
  predecessorUntil: string | null
}

const choices = Object.fromEntries(Object.entries(graces).map(([grace, { label }]) => [grace, label]))

/** While the key that a key replaced works, only a leak is a reason to rotate it: nothing is preselected. */
const choicesAfterRotation = { "": "Choose", leaked: graces.leaked.label }

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
            The key that this one replaced works until {predecessorUntil}. Until then this key can be rotated only if it
            leaked, which revokes both. Otherwise close this form, and revoke the old key first.
          </Notice>
        )}
        <input type="hidden" name="id" value={id} />
        <RequestId id={requestId} />
        <SelectField
          label="How long the old key keeps working"
          name="grace"
          options={predecessorUntil ? choicesAfterRotation : choices}
          defaultValue={predecessorUntil ? "" : preselectedGrace}
          hint={predecessorUntil ? undefined : "At most until its own expiry."}
        />
      </>
    ),
    submit: "Rotate key",
  }
}
