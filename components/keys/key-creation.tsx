"use client"

import type { ReactNode } from "react"
import { Link } from "@/components/link"
import type { FormAction } from "@/lib/form/action"
import type { Created } from "@/lib/keys/forms"
import { buttonStyle } from "../button"
import { Form } from "../form/form"
import { Notice } from "../notice"
import { KeyReveal } from "./key-reveal"
import { NewKeyFields } from "./new-key-fields"
import type { MeteredCall } from "./run-call"
import type { Snippet } from "./snippet"

export type CreateAction = FormAction<"requestId" | "name" | "expires" | "date", Created>

export type Creation = {
  action: CreateAction
  /** The path of the keys page. */
  page: string
  requestId: string
  testPath: string | null
  runs: readonly MeteredCall[]
  snippets: readonly Snippet[]
}

/** Shows the form, then the new key: in the dialog or, without JavaScript, in the page. */
export function KeyCreation({
  action,
  page,
  requestId,
  now,
  cancel,
  onClose,
  ...reveal
}: Creation & {
  /** ISO 8601; the server's time when the server renders the form. */
  now: string
  cancel?: ReactNode
  /** Called when the key is saved or abandoned; without it, the browser navigates to `page`. */
  onClose?: () => void
}) {
  return (
    <Form
      action={action}
      ifLost="Submitting this form twice creates only one key."
      done={(created) =>
        created === "already_issued" ? (
          <AlreadyIssued page={page} />
        ) : (
          <KeyReveal {...reveal} issued={created} page={page} onClose={onClose} />
        )
      }
    >
      <NewKeyFields
        requestId={requestId}
        now={now}
        cancel={
          cancel ?? (
            <Link href={page} className={buttonStyle()}>
              Cancel
            </Link>
          )
        }
      />
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
