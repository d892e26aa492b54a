"use client"

import { type ComponentType, type SubmitEvent, useCallback, useRef, useState } from "react"
import { Button } from "@/components/button"
import { Notice } from "@/components/notice"
import { type AccountAction, accountActions, isAccountAction, type Subject } from "./account-actions"
import type { ActionDialogProps } from "./action-dialog"
import type { Act, FormFacts } from "./action-form"

const loadDialog = () => import("./action-dialog")

/**
 * One button per action, which opens the confirmation dialog. Without JavaScript it opens `?action=…`, where the
 * confirmation is part of the page.
 */
export function ActionButtons({
  actions,
  account,
  act,
  ...facts
}: Omit<FormFacts, "id"> & { actions: readonly AccountAction[]; account: Subject; act: Act }) {
  const [Dialog, setDialog] = useState<ComponentType<ActionDialogProps>>()
  const [openAction, setOpenAction] = useState<AccountAction>()
  const [done, setDone] = useState("")
  const pressed = useRef<HTMLElement>(null)
  const buttons = useRef<HTMLFormElement>(null)

  async function openDialog(event: SubmitEvent<HTMLFormElement>) {
    const button = event.nativeEvent.submitter
    if (!(button instanceof HTMLButtonElement) || !isAccountAction(button.value)) return
    event.preventDefault()
    pressed.current = button
    setDone("")
    setOpenAction(button.value)
    const { ActionDialog } = await loadDialog()
    setDialog(() => ActionDialog)
  }

  const close = useCallback(() => setOpenAction(undefined), [])
  const closeDone = useCallback((message: string) => {
    // The action may have removed its own button, so the focus moves to the form.
    pressed.current = buttons.current
    setDone(message)
    setOpenAction(undefined)
  }, [])

  return (
    <div>
      <div role="status" className="*:mb-3">
        {done && <Notice tone="good">{done}</Notice>}
      </div>
      <form
        method="get"
        ref={buttons}
        tabIndex={-1}
        aria-label="Actions"
        onSubmit={openDialog}
        onPointerEnter={() => void loadDialog()}
        onFocus={() => void loadDialog()}
        className="flex flex-wrap gap-2 outline-none"
      >
        {actions.map((action) => (
          <Button
            key={action}
            type="submit"
            name="action"
            value={action}
            kind={accountActions[action].kind === "danger" ? "danger-quiet" : "plain"}
            className="border border-line bg-panel"
          >
            {accountActions[action].label}
          </Button>
        ))}
      </form>
      {Dialog && (
        <Dialog
          {...facts}
          action={openAction}
          account={account}
          act={act}
          onClose={close}
          onDone={closeDone}
          focusAfter={() => pressed.current}
        />
      )}
    </div>
  )
}
