"use client"

import { Dialog } from "@base-ui/react/dialog"
import { type RefObject, useCallback, useRef } from "react"
import type { CreateKeyState } from "@/lib/keys/actions"
import { Button } from "../button"
import { backdropStyle, popupStyle } from "../dialog-style"
import { type CreateAction, type Creation, KeyCreation } from "./key-creation"

export type CreateKeyDialogProps = Creation & {
  open: boolean
  onClose: () => void
  /** Receives the focus when the dialog closes. */
  opener: RefObject<HTMLElement | null>
}

/** Esc closes the form, but not a key that is being created or shown. A click on the backdrop never closes the dialog. */
export function CreateKeyDialog({ open, onClose, opener, action, ...creation }: CreateKeyDialogProps) {
  const busy = useRef(false)
  const setBusy = useCallback((value: boolean) => {
    busy.current = value
  }, [])
  const send: CreateAction = (previous, data) => withoutThrowing(action, previous, data)

  return (
    <Dialog.Root open={open} onOpenChange={(next) => !next && !busy.current && onClose()} disablePointerDismissal>
      <Dialog.Portal>
        <Dialog.Backdrop className={backdropStyle} />
        <Dialog.Popup
          aria-labelledby="creation-title"
          finalFocus={opener}
          className={`${popupStyle} max-w-lg has-[#new-key]:max-w-2xl`}
        >
          <KeyCreation
            {...creation}
            action={send}
            now={new Date().toISOString()}
            cancel={<Button onClick={onClose}>Cancel</Button>}
            onBusy={setBusy}
            onDone={onClose}
          />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

/** Without a response it is unknown whether the key was created. Submitting the same form again never creates a second key. */
async function withoutThrowing(
  action: CreateAction,
  previous: CreateKeyState | null,
  data: FormData,
): Promise<CreateKeyState> {
  try {
    return await action(previous, data)
  } catch {
    const text = (name: string) => String(data.get(name) ?? "")
    const values = { name: text("name"), expires: text("expires"), date: text("date") }
    const message = "The server did not respond. Try again: submitting this form twice creates only one key."
    return { ok: false, reason: "refused", message, values }
  }
}
