import type { Confirmation } from "@/components/confirm/confirm-form"
import { TextField } from "@/components/form/fields"
import type { FormAction } from "@/lib/form/action"
import { settingsText } from "@/lib/keys/choices"
import { LimitFields, type LimitRules, type Limits } from "./limit-fields"

type ChangeableKey = { id: string; name: string; start: string; limits: Limits }

export type ChangeAction = FormAction<string, string>

/** Asks for the name and the limits of a key. */
export function change(
  { id, name, start, limits }: ChangeableKey,
  { change: action, rules }: { change: ChangeAction; rules: LimitRules },
): Confirmation {
  const shown = settingsText(name, limits.addresses, limits.requestsPerMinute, limits.spending)
  return {
    title: "Edit this key",
    description: (
      <>
        Changes to <code className="font-mono">{start}…</code> apply from the next request. Its permissions cannot be
        changed: create a new key for other permissions.
      </>
    ),
    action,
    fields: (
      <>
        <input type="hidden" name="id" value={id} />
        <input type="hidden" name="shown" value={shown} />
        <TextField label="Name" name="name" required maxLength={80} autoComplete="off" defaultValue={name} />
        <LimitFields rules={rules} given={limits} />
      </>
    ),
    submit: "Save changes",
    kind: "primary",
  }
}
