"use client"

import type { ReactNode } from "react"
import { ConfirmButtons } from "@/components/confirm/confirm-buttons"
import { connection, disconnection, type Named } from "./provider-confirmation"

export function ProviderButtons({
  available,
  connected,
  children,
}: {
  available: readonly Named[]
  connected: readonly Named[]
  children: ReactNode
}) {
  return (
    <ConfirmButtons
      confirmationOf={(value) => {
        const provider = available.find(({ id }) => id === value)
        if (provider) return connection(provider)
        return disconnection(connected.find(({ id }) => id === value) ?? { id: value, name: "This service" })
      }}
    >
      {children}
    </ConfirmButtons>
  )
}
