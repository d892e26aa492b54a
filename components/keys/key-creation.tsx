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

export type CreateAction = (last: CreateKeyState | null, data: FormData) => Promise<CreateKeyState>

export type Creation = {
  action: CreateAction
  /** The page of the keys, to return to. */
  page: string
  requestId: string
  testPath: string | null
  run: MeteredCall | null
  snippets: readonly Snippet[]
}

/** The form, and after it the key: the same in the dialog and, without JavaScript, in the page. */
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
  /** ISO 8601; the server's where it draws the form. */
  now: string
  cancel?: ReactNode
  /** Whether leaving now would lose a key, or could. */
  onBusy?: (busy: boolean) => void
  /** After the key is saved, or given up; the page is left where this is absent. */
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
        This key was created already
      </h2>
      <Notice tone="warn" role="alert">
        The form arrived twice, and a key is shown only the first time. If you saved it, all is well. If not, revoke it
        in the list and create another one.
      </Notice>
      <div className="flex justify-end">
        {/* A whole load and not a soft one: it also ends the dialog, and a form sent again has nothing left to send. */}
        <a href={page} className={buttonStyle("primary")}>
          Back to the list
        </a>
      </div>
    </>
  )
}
