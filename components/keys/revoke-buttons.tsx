"use client"

import { useRouter } from "next/navigation"
import type { ReactNode } from "react"
import { ConfirmButtons } from "../confirm/confirm-buttons"
import { type RevocableKey, type RevokeAction, revocation } from "./revocation"

/** Confirms the `Revoke` buttons of the table inside it. */
export function RevokeButtons({
  keys,
  action,
  children,
}: {
  keys: readonly RevocableKey[]
  action: RevokeAction
  children: ReactNode
}) {
  const router = useRouter()
  return (
    <ConfirmButtons
      confirmationOf={(id) => {
        const key = keys.find((key) => key.id === id)
        return key && revocation(key, action)
      }}
      // The last use in the list may be outdated.
      onOpen={() => router.refresh()}
      changed={(id) => document.getElementById(`key-${id}`)}
    >
      {children}
    </ConfirmButtons>
  )
}
