"use client"

import { Tabs } from "@base-ui/react/tabs"
import { useEffect, useRef } from "react"
import { Button } from "@/components/button"
import { CopyField } from "@/components/copy-field"
import { dialogFooterStyle } from "@/components/dialog-style"
import { Notice } from "@/components/notice"
import { Untrusted } from "@/components/untrusted"
import { useHydrated } from "@/components/use-hydrated"
import { useLeaveGuard } from "@/components/use-leave-guard"
import type { Created } from "@/lib/form/keys"
import { absoluteTime, plainDate } from "@/lib/platform/text/format-time"
import { type MeteredCall, RunCalls } from "./run-call"
import { type Snippet, withKey } from "./snippet"
import { TestCall } from "./test-call"

/** What is shown with a new key. */
export type Shown = {
  /** The path of the keys page. */
  page: string
  /** The path that "Test it now" requests, which every key of the surface may read. */
  testPath: string
  /** The metered endpoints that can be tried with the key. */
  runs: readonly MeteredCall[]
  snippets: readonly Snippet[]
}

/** The only component that shows a key. The key exists only in `issued` and is gone when this component unmounts. */
export function KeyReveal({
  issued: { secret, name, expiresAt, mayRun, replacedUntil, report, warning },
  shown: { snippets, testPath, runs, page },
  onClose,
}: {
  issued: Exclude<Created, "already_issued">
  shown: Shown
  onClose?: (() => void) | undefined
}) {
  const container = useRef<HTMLDivElement>(null)
  const hydrated = useHydrated()
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
      {hydrated ? (
        <SnippetTabs snippets={snippets} secret={secret} />
      ) : (
        <SnippetList snippets={snippets} secret={secret} />
      )}
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

function SnippetTabs({ snippets, secret }: { snippets: readonly Snippet[]; secret: string }) {
  if (snippets.length === 1) return <SnippetList snippets={snippets} secret={secret} />
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

function SnippetList({ snippets, secret }: { snippets: readonly Snippet[]; secret: string }) {
  return snippets.map((snippet) => (
    <SnippetField key={snippet.title} snippet={snippet} secret={secret} label={snippet.title} />
  ))
}

function SnippetField({ snippet, secret, label }: { snippet: Snippet; secret: string; label: string }) {
  const text = withKey(snippet, secret)
  const lines = Math.min(12, Math.max(3, text.split("\n").length + 1))
  return (
    <CopyField
      id={`snippet-${snippet.title.replaceAll(" ", "-")}`}
      label={label}
      value={text}
      copy={snippet.copy}
      lines={lines}
    />
  )
}
