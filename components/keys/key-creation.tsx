"use client"

import { Tabs } from "@base-ui/react/tabs"
import { type ReactNode, useEffect, useRef } from "react"
import type { Snippet } from "@/components/code/ready-to-paste"
import { SubmitButton } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { dialogFooterStyle } from "@/components/overlay/dialog-style"
import { useLeaveGuard } from "@/components/overlay/use-leave-guard"
import { Button, buttonStyle } from "@/components/ui/button"
import { CopyField } from "@/components/ui/copy-field"
import { Link } from "@/components/ui/link"
import { Notice } from "@/components/ui/notice"
import { useHydrated } from "@/components/ui/use-hydrated"
import { Untrusted } from "@/components/values/untrusted"
import type { FormAction } from "@/lib/form/action"
import type { Created } from "@/lib/form/keys"
import { keyPlaceholder } from "@/lib/keys/choices"
import { absoluteTime, plainDate } from "@/lib/platform/text/format-time"
import { type MeteredCall, RunCalls, TestCall } from "./try-key"

export type CreateAction = FormAction<string, Created>

export type Creation = {
  title: string
  action: CreateAction
  fields: ReactNode
  submit: string
}

export type ShownWithKey = {
  page: string
  /** Every key of the surface may read this path. */
  testPath: string
  runs: readonly MeteredCall[]
  snippets: readonly Snippet[]
}

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
  issued: { secret, name, expiresAt, mayRun, replacedUntil, report, warning },
  shown: { snippets, testPath, runs, page },
  onClose,
}: {
  issued: Exclude<Created, "already_issued">
  shown: ShownWithKey
  onClose: (() => void) | undefined
}) {
  const container = useRef<HTMLDivElement>(null)
  const hydrated = useHydrated()
  const release = useLeaveGuard(container, onClose ?? (() => location.replace(page)))

  useEffect(() => container.current?.querySelector<HTMLElement>("#new-key")?.focus(), [])

  const Snippets = hydrated && snippets.length > 1 ? SnippetTabs : SnippetList
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
          {expiresAt ? `works until ${plainDate(new Date(expiresAt))}.` : "works until it is revoked."} You won’t see
          this key again. Store it in a secrets manager.
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
      <CopyField id="new-key" label="New API key" value={secret} copy="Copy key" kind="primary" />
      <Snippets snippets={snippets} secret={secret} />
      {hydrated && <TestCall path={testPath} secret={secret} />}
      {hydrated && mayRun && <RunCalls runs={runs} secret={secret} />}
      <form
        action={page}
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

type WithKey = { snippets: readonly Snippet[]; secret: string }

function SnippetTabs({ snippets, secret }: WithKey) {
  return (
    <Tabs.Root defaultValue={snippets[0]?.title} className="grid gap-3">
      <Tabs.List aria-label="Example requests" className="flex gap-1 border-b border-line">
        {snippets.map(({ title }) => (
          <Tabs.Tab
            key={title}
            value={title}
            className="-mb-px h-8 border-b-2 border-transparent px-2.5 font-medium text-muted hover:text-ink aria-selected:border-accent aria-selected:text-ink"
          >
            {title}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {snippets.map((snippet) => (
        // A panel that was left stays for a frame, below the new one.
        <Tabs.Panel key={snippet.title} value={snippet.title} tabIndex={-1} className="inert:hidden">
          <SnippetField snippet={snippet} secret={secret} label={`Request in ${snippet.title}`} />
        </Tabs.Panel>
      ))}
    </Tabs.Root>
  )
}

function SnippetList({ snippets, secret }: WithKey) {
  return snippets.map((snippet) => (
    <SnippetField key={snippet.title} snippet={snippet} secret={secret} label={snippet.title} />
  ))
}

function SnippetField({ snippet, secret, label }: { snippet: Snippet; secret: string; label: string }) {
  const { title, copy, text } = snippet
  const value = text.replaceAll(keyPlaceholder, secret)
  const lines = Math.min(12, Math.max(3, value.split("\n").length + 1))
  return (
    <CopyField id={`snippet-${title.replaceAll(" ", "-")}`} label={label} value={value} copy={copy} lines={lines} />
  )
}
