"use client"

import { AlertDialog } from "@base-ui/react/alert-dialog"
import { Button } from "../button"
import { backdropStyle, popupStyle } from "../dialog-style"
import { type RevocableKey, RevokeFacts } from "./revoke-facts"
import { type RevokeAction, RevokeForm } from "./revoke-form"

export type RevokeDialogProps = {
  /** The key to revoke; the dialog is closed while it is `undefined`. */
  selected: RevocableKey | undefined
  action: RevokeAction
  onClose: () => void
  onRevoked: () => void
  focusAfter: () => HTMLElement | null
}

export function RevokeDialog({ selected, action, onClose, onRevoked, focusAfter }: RevokeDialogProps) {
  return (
    <AlertDialog.Root open={selected !== undefined} onOpenChange={(open) => !open && onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={backdropStyle} />
        <AlertDialog.Popup className={`${popupStyle} max-w-md`} finalFocus={focusAfter}>
          {selected && (
            <>
              <AlertDialog.Title className="text-base font-semibold">Revoke this key?</AlertDialog.Title>
              <AlertDialog.Description className="text-muted">
                <RevokeFacts {...selected} />
              </AlertDialog.Description>
              <RevokeForm
                id={selected.id}
                action={action}
                onRevoked={onRevoked}
                cancel={<Button onClick={onClose}>Cancel</Button>}
              />
            </>
          )}
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  )
}
