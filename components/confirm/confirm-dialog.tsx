"use client"

import { AlertDialog } from "@base-ui/react/alert-dialog"
import type { Message } from "@/lib/form/action"
import { Button } from "../button"
import { backdropStyle, popupStyle } from "../dialog-style"
import { type Confirmation, ConfirmForm } from "./confirm-form"

export type ConfirmDialogProps = {
  /** The change to confirm; the dialog is closed while it is `undefined`. */
  confirmation: Confirmation | undefined
  onClose: () => void
  onDone: (message: Message) => void
  focusAfter: () => HTMLElement | null
}

export function ConfirmDialog({ confirmation, onClose, onDone, focusAfter }: ConfirmDialogProps) {
  return (
    <AlertDialog.Root open={confirmation !== undefined} onOpenChange={(open) => !open && onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={backdropStyle} />
        <AlertDialog.Popup className={`${popupStyle} max-w-md`} finalFocus={focusAfter}>
          {confirmation && (
            <>
              <AlertDialog.Title className="text-base font-semibold">{confirmation.title}</AlertDialog.Title>
              <AlertDialog.Description className="text-muted">{confirmation.description}</AlertDialog.Description>
              <ConfirmForm
                confirmation={confirmation}
                onDone={onDone}
                cancel={<Button onClick={onClose}>Cancel</Button>}
              />
            </>
          )}
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  )
}
