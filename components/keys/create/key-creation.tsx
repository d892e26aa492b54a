"use client"

import type { ReactNode } from "react"
import { buttonStyle } from "@/components/button"
import { dialogFooterStyle } from "@/components/dialog-style"
import { SubmitButton } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { Link } from "@/components/link"
import { Notice } from "@/components/notice"
import type { FormAction } from "@/lib/form/action"
import type { Created } from "@/lib/form/keys"
import { KeyReveal, type Shown } from "./key-reveal"

export type CreateAction = FormAction<string, Created>

/** A form that creates a key. */
export type Creation = {
  title: string
  action: CreateAction
  fields: ReactNode
  submit: string
}

/** Shows the form, then the new key: in the dialog or, without JavaScript, in the page. */
export function KeyCreation({
  creation: { title, action, fields, submit },
  shown,
  unavailable,
  cancel,
  onClose,
}: {
  creation: Creation
  shown: Shown
  /** Why the key cannot be created, if it cannot. */
  unavailable?: ReactNode
  cancel?: ReactNode
  /** Called when the key is saved or abandoned; without it, the browser navigates to the keys page. */
  onClose?: () => void
}) {
  const { page } = shown
  return (
    <Form
      action={action}
      takesFocus={!onClose}
      heading={
        <h2 id="creation-title" className="text-base font-semibold">
          {title}
        </h2>
      }
      ifLost="Submitting this form twice creates only one key."
      unavailable={unavailable}
      done={(created) =>
        created === "already_issued" ? (
          <AlreadyIssued page={page} />
        ) : (
          <KeyReveal issued={created} shown={shown} onClose={onClose} />
        )
      }
    >
      {fields}
      <div className={onClose ? dialogFooterStyle : "flex flex-wrap justify-end gap-2"}>
        {cancel ?? (
          <Link href={page} className={buttonStyle()}>
            Cancel
          </Link>
        )}
        <SubmitButton>{submit}</SubmitButton>
      </div>
    </Form>
  )
}

function AlreadyIssued({ page }: { page: string }) {
  return (
    <div className="grid gap-4">
      <h2 id="creation-title" tabIndex={-1} className="text-base font-semibold outline-none">
        This key was already created
      </h2>
      <Notice tone="warn" role="alert">
        The form was submitted twice. A key is shown only once: if you did not save it, revoke it in the list and create
        another one.
      </Notice>
      <div className="flex justify-end">
        {/* A full page load, which also closes the dialog and keeps a reload from submitting the form again. */}
        <a href={page} className={buttonStyle("primary")}>
          Back to the list
        </a>
      </div>
    </div>
  )
}
