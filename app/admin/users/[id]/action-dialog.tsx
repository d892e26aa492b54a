"use client"

import { AlertDialog } from "@base-ui/react/alert-dialog"
import { Button } from "@/components/button"
import { backdropStyle, popupStyle } from "@/components/dialog-style"
import { type AccountAction, accountActions, type Subject } from "./account-actions"
import { ActionFacts } from "./action-facts"
import { type Act, ActionForm, type FormFacts } from "./action-form"
import type { ActionAnswer } from "./actions"

export type ActionDialogProps = Omit<FormFacts, "id"> & {
  /** The action in question; the dialog is closed while there is none. */
  asked: AccountAction | undefined
  account: Subject
  act: Act
  onClose: () => void
  onDone: (message: string) => void
  focusAfter: () => HTMLElement | null
}

export function ActionDialog({ asked, account, act, onClose, onDone, focusAfter, ...facts }: ActionDialogProps) {
  return (
    <AlertDialog.Root open={asked !== undefined} onOpenChange={(open) => !open && onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={backdropStyle} />
        <AlertDialog.Popup className={`${popupStyle} max-w-md`} finalFocus={focusAfter}>
          {asked && (
            <>
              <AlertDialog.Title className="text-base font-semibold">{accountActions[asked].title}</AlertDialog.Title>
              <AlertDialog.Description className="text-muted">
                <ActionFacts action={asked} account={account} />
              </AlertDialog.Description>
              <ActionForm
                {...facts}
                id={account.id}
                action={asked}
                act={(last, data) => withoutThrowing(act, last, data)}
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

/** Without an answer it is not known whether anything was done. Sending the same form again tells, and never acts twice. */
async function withoutThrowing(act: Act, last: ActionAnswer | null, data: FormData): Promise<ActionAnswer> {
  try {
    return await act(last, data)
  } catch {
    const text = (name: string) => String(data.get(name) ?? "")
    const values = { role: text("role"), amount: text("amount"), reason: text("reason") }
    const message = "The server did not answer. Try again: whatever happened, this form acts once at most."
    return { ok: false, reason: "refused", message, values }
  }
}
