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
 * Makes the `Revoke` buttons of the table inside it open a dialog. One listener for all rows: they stay server-rendered,
 * and without JavaScript the form asks the page for the confirmation.
 */
export function RevokeButtons({ action, children }: { action: RevokeAction; children: ReactNode }) {
  const [Dialog, setDialog] = useState<ComponentType<RevokeDialogProps>>()
  const [asked, setAsked] = useState<RevocableKey>()
  const [revoked, setRevoked] = useState("")
  const button = useRef<HTMLButtonElement>(null)
  const router = useRouter()
  const [refreshing, refresh] = useTransition()

  async function ask(event: SubmitEvent<HTMLFormElement>) {
    const pressed = event.nativeEvent.submitter
    if (!(pressed instanceof HTMLButtonElement)) return
    event.preventDefault()
    button.current = pressed
    setRevoked("")
    setAsked(keyOf(pressed))
    refresh(() => router.refresh())
    const { RevokeDialog } = await loadDialog()
    setDialog(() => RevokeDialog)
  }

  // The list may be as old as the page: whether a key is in use has to be true at the moment of the question.
  useEffect(() => {
    const { current } = button
    if (!refreshing && current?.isConnected) setAsked((key) => key && keyOf(current))
  }, [refreshing])

  const close = useCallback(() => setAsked(undefined), [])
  const closeRevoked = useCallback(() => {
    setRevoked(`The key “${asked?.name}” is revoked.`)
    setAsked(undefined)
  }, [asked])

  /** The button is gone once its key is revoked: its row takes the focus. */
  function focusAfter(): HTMLElement | null {
    if (button.current?.isConnected) return button.current
    return document.getElementById(`key-${button.current?.value}`)
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

function keyOf({ value, dataset }: HTMLButtonElement): RevocableKey {
  const { name = "", start = "", used = "" } = dataset
  return { id: value, name, start, used }
}
