"use client"

import { Dialog } from "@base-ui/react/dialog"
import { type RefObject, useRef } from "react"
import { Button } from "../button"
import { backdropStyle, popupStyle } from "../dialog-style"
import { type Creation, KeyCreation } from "./key-creation"

export type CreateKeyDialogProps = Creation & {
  open: boolean
  onClose: () => void
  /** Receives the focus when the dialog closes. */
  opener: RefObject<HTMLElement | null>
}

/** Esc and Cancel close the form, but not a key that is being created or shown. A click on the backdrop never closes the dialog. */
export function CreateKeyDialog({ open, onClose, opener, ...creation }: CreateKeyDialogProps) {
  const popup = useRef<HTMLDivElement>(null)

  function close(): void {
    if (!popup.current?.querySelector("[type=submit][aria-disabled=true], #new-key")) onClose()
  }

  return (
    <Dialog.Root open={open} onOpenChange={(next) => !next && close()} disablePointerDismissal>
      <Dialog.Portal>
        <Dialog.Backdrop className={backdropStyle} />
        <Dialog.Popup
          ref={popup}
          aria-labelledby="creation-title"
          finalFocus={opener}
          className={`${popupStyle} max-w-lg has-[#new-key]:max-w-2xl`}
        >
          <KeyCreation
            {...creation}
            now={new Date().toISOString()}
            cancel={<Button onClick={close}>Cancel</Button>}
            onClose={onClose}
          />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
