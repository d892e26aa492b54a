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
  /** Gets the focus back. */
  opener: RefObject<HTMLElement | null>
}

/** Esc closes the form; once it is sent, only "I have saved this key" does. The backdrop never closes anything. */
export function CreateKeyDialog({ open, onClose, opener, action, ...creation }: CreateKeyDialogProps) {
  const busy = useRef(false)
  const setBusy = useCallback((value: boolean) => {
    busy.current = value
  }, [])
  const send: CreateAction = (last, data) => withoutThrowing(action, last, data)

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

/** Without an answer it is not known whether the key was made. Sending the same form again tells, and never makes two. */
async function withoutThrowing(
  action: CreateAction,
  last: CreateKeyState | null,
  data: FormData,
): Promise<CreateKeyState> {
  try {
    return await action(last, data)
  } catch {
    const text = (name: string) => String(data.get(name) ?? "")
    const values = { name: text("name"), expires: text("expires"), date: text("date") }
    const message = "The server did not answer. Try again: whatever happened, this form makes one key at most."
    return { ok: false, reason: "refused", message, values }
  }
}
