"use client"

import { type ReactNode, type SubmitEvent, useRef, useState } from "react"
import type { Message } from "@/lib/form/action"
import { Notice } from "../notice"
import { useDialog } from "../use-dialog"
import type { ConfirmDialogProps } from "./confirm-dialog"
import type { Confirmation } from "./confirm-form"
import { MessageText } from "./message-text"

const loadDialog = async () => (await import("./confirm-dialog")).ConfirmDialog

type Pressed = { value: string; name: string }

/**
 * A form whose submit buttons open confirmations. One listener serves all buttons, so they can be server-rendered.
 * Without JavaScript, a button opens the page with its name and value in the query, where the confirmation is part of
 * the page.
 */
export function ConfirmButtons({
  confirmationOf,
  openOther,
  onOpen,
  changed,
  children,
  className,
}: {
  /** The confirmation that the button with this value and name opens; it must outlast the change that it confirms. */
  confirmationOf: (value: string, name: string) => Confirmation | undefined
  /** Opens what a button without a confirmation opens. */
  openOther?: (button: HTMLButtonElement) => void
  onOpen?: () => void
  /** What a confirmed change leaves to focus; by default the message, because the button may be gone. */
  changed?: (value: string) => HTMLElement | null
  children: ReactNode
  className?: string | undefined
}) {
  const { Dialog, opened, open, close, preload } = useDialog<ConfirmDialogProps, Pressed>(loadDialog)
  const [message, setMessage] = useState<Message>("")
  const focusAfter = useRef<() => HTMLElement | null>(() => null)
  const status = useRef<HTMLDivElement>(null)

  function press(event: SubmitEvent<HTMLFormElement>) {
    const button = event.nativeEvent.submitter
    if (!(button instanceof HTMLButtonElement)) return
    event.preventDefault()
    focusAfter.current = () => button
    setMessage("")
    onOpen?.()
    const { value, name } = button
    if (openOther && !confirmationOf(value, name)) openOther(button)
    else open({ value, name })
  }

  function closeDone(done: Message) {
    focusAfter.current = () => (opened && changed?.(opened.value)) || status.current
    setMessage(done)
    close()
  }

  return (
    <div>
      <div ref={status} role="status" tabIndex={-1} className="outline-none *:mb-3">
        {message && (
          <Notice tone="good">
            <MessageText message={message} />
          </Notice>
        )}
      </div>
      <form method="get" onSubmit={press} onPointerEnter={preload} onFocus={preload} className={className}>
        {children}
      </form>
      {Dialog && (
        <Dialog
          confirmation={opened && confirmationOf(opened.value, opened.name)}
          onClose={close}
          onDone={closeDone}
          focusAfter={() => focusAfter.current()}
        />
      )}
    </div>
  )
}
