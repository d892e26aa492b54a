import type { Confirmation } from "@/components/confirm/confirm-form"
import { RequestId, SelectField, TextField } from "@/components/form/fields"
import { RevocationReasonField } from "@/components/keys/row-forms"
import { Untrusted } from "@/components/values/untrusted"
import type { FormAction, Message } from "@/lib/form/action"
import { type AccountAction, type ActionField, accountActions, type Subject } from "./account-actions"
import {
  ban,
  close,
  deduct,
  deleteAccount,
  grant,
  removePicture,
  revokeKeys,
  setRole,
  unban,
  undoDeletion,
} from "./actions"

const actions: Record<AccountAction, FormAction<string, Message>> = {
  ban,
  unban,
  close,
  delete: deleteAccount,
  undoDeletion,
  revokeKeys,
  removePicture,
  role: setRole,
  grant,
  deduct,
}

export type FormFacts = {
  account: Subject
  requestId: string
  roles: readonly string[]
}

export function confirmationOf(name: AccountAction, facts: FormFacts): Confirmation {
  const { account } = facts
  const { title, effect, label, kind, fields } = accountActions[name]
  return {
    title,
    description: (
      <>
        <strong className="font-semibold text-ink wrap-anywhere">
          <Untrusted>{account.name}</Untrusted>
        </strong>{" "}
        (
        <span className="wrap-anywhere">
          <Untrusted>{account.email}</Untrusted>
        </span>
        ) {effect(account)}
      </>
    ),
    action: actions[name],
    fields: (
      <>
        <input type="hidden" name="id" value={account.id} />
        {fields.map((field) => (
          <ActionInput key={field} field={field} {...facts} />
        ))}
      </>
    ),
    submit: label,
    kind,
  }
}

function ActionInput({ field, requestId, roles }: FormFacts & { field: ActionField }) {
  switch (field) {
    case "requestId":
      return <RequestId id={requestId} />
    case "role":
      return (
        <SelectField
          label="New role"
          name="role"
          required
          options={{ "": "Choose a role", ...Object.fromEntries(roles.map((role) => [role, role])) }}
        />
      )
    case "amount":
      return <TextField label="Credits" name="amount" inputMode="numeric" autoComplete="off" required />
    case "reason":
      return <TextField label="Reason" name="reason" autoComplete="off" maxLength={200} required />
    case "revocation":
      return <RevocationReasonField />
    case "why":
      return (
        <TextField
          label="Reason (optional)"
          name="reason"
          autoComplete="off"
          maxLength={200}
          hint="Recorded in the audit log."
        />
      )
  }
}
