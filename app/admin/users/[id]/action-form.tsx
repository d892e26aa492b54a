"use client"

import { type ReactNode, useEffect, useRef, useState } from "react"
import { Button } from "@/components/button"
import { controlStyle, describedBy, Field, TextField } from "@/components/field"
import { SignedOut } from "@/components/keys/revoke-form"
import { Link } from "@/components/link"
import { Notice } from "@/components/notice"
import { useFormSubmission } from "@/components/use-form-submission"
import { type AccountAction, type ActionField, accountActions } from "./account-actions"
import type { ActionErrors, ActionState, ActionValues } from "./actions"

export type Act = (last: ActionState | null, data: FormData) => Promise<ActionState>

/** The props that the forms of all actions share. */
export type FormFacts = { id: string; requestId: string; roles: readonly string[] }

const empty: ActionValues = { role: "", amount: "", reason: "" }

/** The confirmation of an action: its fields and its submit button. */
export function ActionForm({
  action,
  id,
  requestId,
  roles,
  act,
  intro,
  unavailable,
  cancel,
  onDone,
}: FormFacts & {
  action: AccountAction
  act: Act
  intro?: ReactNode
  /** Shown instead of the form when the action is not available. */
  unavailable?: ReactNode
  cancel: ReactNode
  onDone?: (message: string) => void
}) {
  const { response, lost, pending, form: sending } = useFormSubmission(act)
  // Keeps the id of the first render, so that submitting this form twice applies the action once.
  const [formId] = useState(requestId)
  const form = useRef<HTMLFormElement>(null)

  useEffect(() => {
    if (response?.ok) onDone?.(response.message)
    else if (response) form.current?.querySelector<HTMLElement>("[aria-invalid=true], button[type=submit]")?.focus()
  }, [response, onDone])

  if (response?.ok) return <Done id={id} message={response.message} />
  if (unavailable && !response) return unavailable
  const { label, kind, fields } = accountActions[action]
  const values = response?.values ?? empty
  const errors = response?.reason === "invalid" ? response.errors : {}
  return (
    <form {...sending} ref={form} className="grid gap-4">
      {intro}
      <input type="hidden" name="action" value={action} />
      <input type="hidden" name="id" value={id} />
      <input type="hidden" name="requestId" value={formId} />
      {lost && (
        <Notice tone="bad" role="alert">
          There was no response. Check your connection and try again. The action is never applied twice.
        </Notice>
      )}
      {response && response.reason !== "invalid" && (
        <Notice tone="bad" role="alert">
          {response.reason === "refused" ? response.message : <SignedOut />}
        </Notice>
      )}
      {fields.map((field) => (
        <ActionInput key={field} field={field} values={values} errors={errors} roles={roles} />
      ))}
      <div className="flex flex-wrap justify-end gap-2">
        {cancel}
        <Button kind={kind} type="submit" aria-disabled={pending}>
          {label}
        </Button>
      </div>
    </form>
  )
}

function ActionInput({
  field,
  values,
  errors,
  roles,
}: {
  field: ActionField
  values: ActionValues
  errors: ActionErrors
  roles: readonly string[]
}) {
  if (field === "role") {
    return (
      <Field id="action-role" label="New role" error={errors.role}>
        <select
          {...describedBy("action-role", { error: errors.role })}
          name="role"
          required
          defaultValue={values.role}
          className={controlStyle}
        >
          <option value="">Choose a role</option>
          {roles.map((role) => (
            <option key={role}>{role}</option>
          ))}
        </select>
      </Field>
    )
  }
  if (field === "amount") {
    return (
      <TextField
        id="action-amount"
        label="Credits"
        name="amount"
        inputMode="numeric"
        autoComplete="off"
        required
        defaultValue={values.amount}
        error={errors.amount}
      />
    )
  }
  return (
    <TextField
      id="action-reason"
      label={field === "why" ? "Reason (optional)" : "Reason"}
      {...(field === "why" && { hint: "Recorded in the audit log." })}
      name="reason"
      autoComplete="off"
      maxLength={200}
      required={field === "reason"}
      defaultValue={values.reason}
      error={errors.reason}
    />
  )
}

function Done({ id, message }: { id: string; message: string }) {
  return (
    <Notice tone="good" role="status">
      {message}{" "}
      <Link href={`/admin/users/${id}`} className="underline">
        Back to the account
      </Link>
    </Notice>
  )
}
