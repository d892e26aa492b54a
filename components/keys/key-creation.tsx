"use client"

import { type ReactNode, useEffect, useRef, useState } from "react"
import { SubmitButton } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { dialogFooterStyle } from "@/components/overlay/dialog-style"
import { useLeaveGuard } from "@/components/overlay/use-leave-guard"
import { Button, buttonStyle } from "@/components/ui/button"
import { CopyField } from "@/components/ui/copy-field"
import { Link } from "@/components/ui/link"
import { Notice } from "@/components/ui/notice"
import { Untrusted } from "@/components/values/untrusted"
import type { FormAction } from "@/lib/form/action"
import type { Created } from "@/lib/form/keys"
import { absoluteTime, plainDate } from "@/lib/platform/text/format-time"
import { keyVariable } from "@/lib/product"
import { FirstCall, type FirstCalls, Step } from "./try-key"

export type CreateAction = FormAction<string, Created>

export type Creation = {
  title: string
  action: CreateAction
  fields: ReactNode
  submit: string
}

/** `page` is the list of keys. */
export type ShownWithKey = FirstCalls & { page: string }

export function KeyCreation({
  creation: { title, action, fields, submit },
  shown,
  unavailable,
  cancel,
  onClose,
}: {
  creation: Creation
  shown: ShownWithKey
  unavailable?: ReactNode
  cancel?: ReactNode
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

/** No other component shows a key. The key exists only in `issued`, and is gone when this component unmounts. */
function KeyReveal({
  issued: { id, secret, name, expiresAt, mayRun, replacedUntil, report, warning },
  shown: { page, calls, requestsPage },
  onClose,
}: {
  issued: Exclude<Created, "already_issued">
  shown: ShownWithKey
  onClose: (() => void) | undefined
}) {
  const container = useRef<HTMLDivElement>(null)
  const [isCopied, setCopied] = useState(false)
  const [first, ...others] = mayRun ? calls : calls.filter(({ metered }) => !metered)
  const release = useLeaveGuard(container, onClose ?? (() => location.replace(page)))

  useEffect(() => container.current?.querySelector<HTMLElement>("#new-key")?.focus(), [])

  return (
    <div ref={container} className="grid gap-4">
      <div className="grid gap-1">
        <h2 id="creation-title" className="text-base font-semibold">
          Save your new key
        </h2>
        <p className="text-muted">
          <span className="font-medium text-ink wrap-anywhere">
            <Untrusted>{name}</Untrusted>
          </span>{" "}
          {expiresAt ? `works until ${plainDate(new Date(expiresAt))}.` : "works until it is revoked."}
        </p>
        {replacedUntil !== undefined && (
          <p className="text-muted">
            {replacedUntil
              ? `The old key works until ${absoluteTime(new Date(replacedUntil))}.`
              : "The old key no longer works."}{" "}
            {report && (
              // In another tab, because leaving this one loses the key.
              <a href={report} target="_blank" rel="noreferrer" className="text-accent underline">
                See what it read
              </a>
            )}
          </p>
        )}
      </div>
      {warning && <Notice tone="warn">{warning}</Notice>}
      <ol className="grid gap-5">
        <Step number={1} title="Copy the key" state={isCopied ? "done" : undefined}>
          <CopyField
            id="new-key"
            label="New API key"
            value={secret}
            copy="Copy key"
            kind={isCopied ? "plain" : "primary"}
            onCopy={() => setCopied(true)}
          />
          <p className="text-muted">
            You won’t see this key again. Store it in a secrets manager. In a terminal,{" "}
            <code className="font-mono text-xs text-ink">{readKey}</code> takes it without a trace in the history.
          </p>
        </Step>
        {first && (
          <FirstCall
            calls={[first, ...others]}
            requestsPage={requestsPage}
            secret={secret}
            newKey={{ id, page }}
            isCopied={isCopied}
          />
        )}
      </ol>
      {/* The fragment gives the new row the focus. */}
      <form
        action={`${page}#key-${id}`}
        method="get"
        onSubmit={(event) => {
          release()
          if (!onClose) return
          event.preventDefault()
          onClose()
        }}
        className={onClose ? dialogFooterStyle : "flex justify-end"}
      >
        <Button type="submit">I have saved this key</Button>
      </form>
    </div>
  )
}

const readKey = `read -rs ${keyVariable} && export ${keyVariable}`
