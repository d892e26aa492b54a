"use client"

import { type ReactNode, type SubmitEvent, useRef } from "react"
import { selected, selectedIn } from "@/components/list/selected"
import { useToasts } from "@/components/overlay/toast"
import { useDialog } from "@/components/overlay/use-dialog"
import type { Message } from "@/lib/form/action"
import type { ConfirmDialogProps } from "./confirm-dialog"
import type { Confirmation } from "./confirm-form"
import { MessageText } from "./message-text"

const loadDialog = async () => (await import("./confirm-dialog")).ConfirmDialog

type Pressed = { value: string; name: string; ids: readonly string[]; confirmation: Confirmation | undefined }

/**
 * One listener serves all buttons, so that they can be rendered on the server. Without JavaScript, a button opens the
 * page with its name and value in the query, and the page shows the confirmation.
 */
export function ConfirmButtons({
  confirmationOf,
  openOther,
  onOpen,
  changed,
  children,
  className,
}: {
  /** @param ids of the selected rows for the value `selected`, else the value */
  confirmationOf: (value: string, name: string, ids: readonly string[]) => Confirmation | undefined
  openOther?: (button: HTMLButtonElement) => void
  onOpen?: () => void
  /** The element to focus; by default the message, because the button may be gone. */
  changed?: (value: string) => HTMLElement | null
  children: ReactNode
  className?: string | undefined
}) {
  const { Dialog, opened, open, close, preload } = useDialog<ConfirmDialogProps, Pressed>(loadDialog)
  const toasts = useToasts()
  const form = useRef<HTMLFormElement>(null)
  const focusAfter = useRef<() => HTMLElement | null>(() => null)

  function press(event: SubmitEvent<HTMLFormElement>) {
    const button = event.nativeEvent.submitter
    if (!(button instanceof HTMLButtonElement)) return
    event.preventDefault()
    if (!button.name) return
    const menu = button.closest<HTMLElement>("[popover]")
    menu?.hidePopover()
    focusAfter.current = () => (menu ? document.querySelector<HTMLElement>(`[popovertarget=${menu.id}]`) : button)
    toasts.show(null)
    onOpen?.()
    const { value, name } = button
    const ids = value === selected ? selectedIn(event.currentTarget) : [value]
    const confirmation = confirmationOf(value, name, ids)
    if (openOther && !confirmation) openOther(button)
    else open({ value, name, ids, confirmation })
  }

  /** The rows may be gone once the change is made. */
  const confirmation = opened && (confirmationOf(opened.value, opened.name, opened.ids) ?? opened.confirmation)

  function closeDone(done: Message) {
    focusAfter.current = () => (opened && changed?.(opened.value)) || toasts.region.current
    toasts.show(<MessageText message={done} />)
    form.current?.reset()
    close()
  }

  return (
    <div>
      <form ref={form} method="get" onSubmit={press} onPointerEnter={preload} onFocus={preload} className={className}>
        {children}
      </form>
      {Dialog && (
        <Dialog
          confirmation={confirmation}
          onClose={close}
          onDone={closeDone}
          focusAfter={() => focusAfter.current()}
        />
      )}
    </div>
  )
}
