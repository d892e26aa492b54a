"use client"

import { type ComponentType, type ReactNode, type SubmitEvent, useRef, useState } from "react"
import { Notice } from "../notice"
import type { ConfirmDialogProps } from "./confirm-dialog"
import type { Confirmation } from "./confirm-form"

const loadDialog = () => import("./confirm-dialog")

/**
 * A form whose submit buttons open confirmations. One listener serves all buttons, so they can be server-rendered.
 * Without JavaScript, a button opens the page with its name and value in the query, where the confirmation is part of
 * the page.
 */
export function ConfirmButtons({
  confirmationOf,
  onOpen,
  changed,
  children,
  className,
}: {
  /** The confirmation that the button with this value opens; it must outlast the change that it confirms. */
  confirmationOf: (value: string) => Confirmation | undefined
  onOpen?: () => void
  /** What a confirmed change leaves to focus; by default the message, because the button may be gone. */
  changed?: (value: string) => HTMLElement | null
  children: ReactNode
  className?: string | undefined
}) {
  const [Dialog, setDialog] = useState<ComponentType<ConfirmDialogProps>>()
  const [opened, setOpened] = useState<string>()
  const [message, setMessage] = useState("")
  const focusAfter = useRef<() => HTMLElement | null>(() => null)
  const status = useRef<HTMLDivElement>(null)

  async function open(event: SubmitEvent<HTMLFormElement>) {
    const button = event.nativeEvent.submitter
    if (!(button instanceof HTMLButtonElement)) return
    event.preventDefault()
    focusAfter.current = () => button
    setMessage("")
    setOpened(button.value)
    onOpen?.()
    const { ConfirmDialog } = await loadDialog()
    setDialog(() => ConfirmDialog)
  }

  function closeDone(done: string) {
    focusAfter.current = () => (opened !== undefined && changed?.(opened)) || status.current
    setMessage(done)
    setOpened(undefined)
  }

  return (
    <div>
      <div ref={status} role="status" tabIndex={-1} className="outline-none *:mb-3">
        {message && <Notice tone="good">{message}</Notice>}
      </div>
      <form
        method="get"
        onSubmit={open}
        onPointerEnter={() => void loadDialog()}
        onFocus={() => void loadDialog()}
        className={className}
      >
        {children}
      </form>
      {Dialog && (
        <Dialog
          confirmation={opened === undefined ? undefined : confirmationOf(opened)}
          onClose={() => setOpened(undefined)}
          onDone={closeDone}
          focusAfter={() => focusAfter.current()}
        />
      )}
    </div>
  )
}
