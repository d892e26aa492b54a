"use client"

import { useRouter } from "next/navigation"
import { type ReactNode, useRef } from "react"
import { ConfirmButtons } from "@/components/confirm/confirm-buttons"
import { useKeyDialog } from "./load-creation"
import { confirmationOf, type RowForms, type RowKey, rotateForm } from "./row-forms"

export function KeyButtons({ keys, children, ...forms }: RowForms & { keys: readonly RowKey[]; children: ReactNode }) {
  const router = useRouter()
  const { Dialog, opened, open, close } = useKeyDialog<{ id: string }>()
  const list = useRef<HTMLDivElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const { own } = forms
  const rotated = opened && keys.find(({ id }) => id === opened.id)

  function rotate(pressed: HTMLButtonElement) {
    button.current = pressed
    open({ id: pressed.value })
  }

  /** The button is gone when its key has become part of the row of its successor. */
  function afterRotation(): HTMLElement | null {
    if (!button.current || button.current.isConnected) return button.current
    return rowOf(button.current.value) ?? list.current?.querySelector("section") ?? null
  }

  return (
    <div ref={list}>
      <ConfirmButtons
        confirmationOf={(_value, action, ids) => {
          const chosen = keys.filter(({ id }) => ids.includes(id))
          return confirmationOf(action, chosen, forms)
        }}
        openOther={rotate}
        // The last use in the list may be outdated.
        onOpen={() => router.refresh()}
        changed={rowOf}
      >
        {children}
      </ConfirmButtons>
      {Dialog && own && (
        <Dialog
          creation={rotated && rotateForm(rotated, own)}
          shown={own.shown}
          onClose={close}
          focusAfter={afterRotation}
        />
      )}
    </div>
  )
}

function rowOf(id: string): HTMLElement | null {
  return document.getElementById(`key-${id}`)
}
