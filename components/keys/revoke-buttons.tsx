"use client"

import { useRouter } from "next/navigation"
import {
  type ComponentType,
  type ReactNode,
  type SubmitEvent,
  useCallback,
  useEffect,
  useRef,
  useState,
  useTransition,
} from "react"
import type { RevokeDialogProps } from "./revoke-dialog"
import type { RevocableKey } from "./revoke-facts"
import type { RevokeAction } from "./revoke-form"

const loadDialog = () => import("./revoke-dialog")

/**
 * Opens a dialog for the `Revoke` buttons of the table inside it. One listener serves all rows, so they stay
 * server-rendered. Without JavaScript, the form opens the page with the confirmation.
 */
export function RevokeButtons({ action, children }: { action: RevokeAction; children: ReactNode }) {
  const [Dialog, setDialog] = useState<ComponentType<RevokeDialogProps>>()
  const [selected, setSelected] = useState<RevocableKey>()
  const [revoked, setRevoked] = useState("")
  const button = useRef<HTMLButtonElement>(null)
  const router = useRouter()
  const [refreshing, refresh] = useTransition()

  async function openDialog(event: SubmitEvent<HTMLFormElement>) {
    const pressed = event.nativeEvent.submitter
    if (!(pressed instanceof HTMLButtonElement)) return
    event.preventDefault()
    button.current = pressed
    setRevoked("")
    setSelected(keyOf(pressed))
    refresh(() => router.refresh())
    const { RevokeDialog } = await loadDialog()
    setDialog(() => RevokeDialog)
  }

  // The list may be outdated: after the refresh, the dialog shows the current last use of the key.
  useEffect(() => {
    const { current } = button
    if (!refreshing && current?.isConnected) setSelected((key) => key && keyOf(current))
  }, [refreshing])

  const close = useCallback(() => setSelected(undefined), [])
  const closeRevoked = useCallback(() => {
    setRevoked(`The key “${selected?.name}” is revoked.`)
    setSelected(undefined)
  }, [selected])

  /** The button is removed once its key is revoked; the focus then moves to the row. */
  function focusAfter(): HTMLElement | null {
    if (button.current?.isConnected) return button.current
    return document.getElementById(`key-${button.current?.value}`)
  }

  return (
    <>
      <form
        method="get"
        onSubmit={openDialog}
        onPointerEnter={() => void loadDialog()}
        onFocus={() => void loadDialog()}
      >
        {children}
      </form>
      <p role="status" className="sr-only">
        {revoked}
      </p>
      {Dialog && (
        <Dialog selected={selected} action={action} onClose={close} onRevoked={closeRevoked} focusAfter={focusAfter} />
      )}
    </>
  )
}

function keyOf({ value, dataset }: HTMLButtonElement): RevocableKey {
  const { name = "", start = "", used = "" } = dataset
  return { id: value, name, start, used }
}
