"use client"

import { type ReactNode, useActionState, useEffect, useState } from "react"
import { Link } from "@/components/link"
import type { CreateKeyState } from "@/lib/keys/actions"
import { buttonStyle } from "../button"
import { Notice } from "../notice"
import { KeyReveal } from "./key-reveal"
import { NewKeyForm } from "./new-key-form"
import type { MeteredCall } from "./run-call"
import type { Snippet } from "./snippet"

export type CreateAction = (previous: CreateKeyState | null, data: FormData) => Promise<CreateKeyState>

export type Creation = {
  action: CreateAction
  /** The path of the keys page. */
  page: string
  requestId: string
  testPath: string | null
  run: MeteredCall | null
  snippets: readonly Snippet[]
}

/** Shows the form, then the new key: in the dialog or, without JavaScript, in the page. */
export function KeyCreation({
  action,
  page,
  requestId,
  testPath,
  run,
  snippets,
  now,
  cancel,
  onBusy,
  onDone,
}: Creation & {
  /** ISO 8601; the server's time when the server renders the form. */
  now: string
  cancel?: ReactNode
  /** Receives `true` while leaving would or could lose a key. */
  onBusy?: (busy: boolean) => void
  /** Called when the key is saved or abandoned; without it, the browser navigates to `page`. */
  onDone?: () => void
}) {
  const [response, send, pending] = useActionState(action, null)
  const [started] = useState(() => new Date(now))
  const shown = response?.ok === true

  useEffect(() => onBusy?.(pending || shown), [onBusy, pending, shown])

  if (response?.ok)
    return <KeyReveal issued={response} snippets={snippets} testPath={testPath} run={run} page={page} onDone={onDone} />
  if (response?.reason === "already_issued") return <AlreadyIssued page={page} />
  return (
    <NewKeyForm
      response={response}
      send={send}
      pending={pending}
      requestId={requestId}
      now={started}
      cancel={
        cancel ?? (
          <Link href={page} className={buttonStyle()}>
            Cancel
          </Link>
        )
      }
    />
  )
}

function AlreadyIssued({ page }: { page: string }) {
  return (
    <>
      <h2 id="creation-title" className="text-base font-semibold">
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
    </>
  )
}
