"use client"

import { AlertDialog } from "@base-ui/react/alert-dialog"
import { Button } from "@/components/button"
import { backdropStyle, popupStyle } from "@/components/dialog-style"
import { type AccountAction, accountActions, type Subject } from "./account-actions"
import { ActionFacts } from "./action-facts"
import { type Act, ActionForm, type FormFacts } from "./action-form"

export type ActionDialogProps = Omit<FormFacts, "id"> & {
  /** The action to confirm; undefined while the dialog is closed. */
  action: AccountAction | undefined
  account: Subject
  act: Act
  onClose: () => void
  onDone: (message: string) => void
  focusAfter: () => HTMLElement | null
}

export function ActionDialog({ action, account, act, onClose, onDone, focusAfter, ...facts }: ActionDialogProps) {
  return (
    <AlertDialog.Root open={action !== undefined} onOpenChange={(open) => !open && onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={backdropStyle} />
        <AlertDialog.Popup className={`${popupStyle} max-w-md`} finalFocus={focusAfter}>
          {action && (
            <>
              <AlertDialog.Title className="text-base font-semibold">{accountActions[action].title}</AlertDialog.Title>
              <AlertDialog.Description className="text-muted">
                <ActionFacts action={action} account={account} />
              </AlertDialog.Description>
              <ActionForm
                {...facts}
                id={account.id}
                action={action}
                act={act}
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
