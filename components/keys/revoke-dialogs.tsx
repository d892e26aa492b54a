"use client"

import { type ComponentType, type ReactNode, type SubmitEvent, useCallback, useRef, useState } from "react"
import type { RevokeDialogProps } from "./revoke-dialog"
import type { RevocableKey } from "./revoke-facts"
import type { RevokeAction } from "./revoke-form"

const loadDialog = () => import("./revoke-dialog")

/**
 * Makes the `Revoke` buttons of the table inside it open a dialog. One listener for all rows: they stay server-rendered,
 * and without JavaScript the form asks the page for the confirmation.
 */
export function RevokeDialogs({ action, children }: { action: RevokeAction; children: ReactNode }) {
  const [Dialog, setDialog] = useState<ComponentType<RevokeDialogProps>>()
  const [asked, setAsked] = useState<RevocableKey>()
  const [revoked, setRevoked] = useState("")
  const button = useRef<HTMLElement>(null)

  async function ask(event: SubmitEvent<HTMLFormElement>) {
    const pressed = event.nativeEvent.submitter
    if (!(pressed instanceof HTMLButtonElement)) return
    event.preventDefault()
    button.current = pressed
    const { name = "", start = "", used = "" } = pressed.dataset
    setRevoked("")
    setAsked({ id: pressed.value, name, start, used })
    const { RevokeDialog } = await loadDialog()
    setDialog(() => RevokeDialog)
  }

  const close = useCallback(() => setAsked(undefined), [])
  const closeRevoked = useCallback(() => {
    setRevoked(`The key “${asked?.name}” is revoked.`)
    setAsked(undefined)
  }, [asked])

  /** The button is gone once its key is revoked: its row takes the focus. */
  function focusAfter(): HTMLElement | null {
    if (button.current?.isConnected) return button.current
    return document.getElementById(`key-${button.current?.getAttribute("value")}`)
  }

  return (
    <>
      <form method="get" onSubmit={ask} onPointerEnter={() => void loadDialog()} onFocus={() => void loadDialog()}>
        {children}
      </form>
      <p role="status" className="sr-only">
        {revoked}
      </p>
      {Dialog && (
        <Dialog asked={asked} action={action} onClose={close} onRevoked={closeRevoked} focusAfter={focusAfter} />
      )}
    </>
  )
}
