"use client"

import type { ReactNode } from "react"
import { SubmitButton } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import type { ButtonKind } from "@/components/ui/button"
import type { FormAction, Message } from "@/lib/form/action"

export type Confirmation = {
  title: string
  description: ReactNode
  action: FormAction<string, Message>
  fields: ReactNode
  submit: string
  kind: ButtonKind
  /** In the place of “Cancel”, where the action cancels something. */
  dismiss?: string
}

export function ConfirmForm({
  confirmation: { action, fields, submit, kind },
  cancel,
  ...outcome
}: {
  confirmation: Confirmation
  cancel: ReactNode
  done?: (message: Message) => ReactNode
  unavailable?: ReactNode
  takesFocus?: boolean
  onDone?: (message: Message) => void
}) {
  return (
    <Form action={action} ifLost="The change is never made twice." {...outcome}>
      {fields}
      <div className="flex flex-wrap justify-end gap-2">
        {cancel}
        <SubmitButton kind={kind}>{submit}</SubmitButton>
      </div>
    </Form>
  )
}
