"use client"

import { Dialog } from "@base-ui/react/dialog"
import { backdropStyle, popupStyle } from "@/components/overlay/dialog-style"
import { Button } from "@/components/ui/button"
import type { Message } from "@/lib/form/action"
import { type Confirmation, ConfirmForm } from "./confirm-form"

export type ConfirmDialogProps = {
  confirmation: Confirmation | undefined
  onClose: () => void
  onDone: (message: Message) => void
  focusAfter: () => HTMLElement | null
}

/** Not an `alertdialog`, which is read out as a whole. A click beside the dialog must not lose the typed text. */
export function ConfirmDialog({ confirmation, onClose, onDone, focusAfter }: ConfirmDialogProps) {
  return (
    <Dialog.Root open={confirmation !== undefined} onOpenChange={(open) => !open && onClose()} disablePointerDismissal>
      <Dialog.Portal>
        <Dialog.Backdrop className={backdropStyle} />
        <Dialog.Popup className={`${popupStyle} max-w-md`} finalFocus={focusAfter}>
          {confirmation && (
            <>
              <Dialog.Title className="text-base font-semibold">{confirmation.title}</Dialog.Title>
              <Dialog.Description className="text-muted">{confirmation.description}</Dialog.Description>
              <ConfirmForm
                confirmation={confirmation}
                onDone={onDone}
                cancel={<Button onClick={onClose}>{confirmation.dismiss ?? "Cancel"}</Button>}
              />
            </>
          )}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
