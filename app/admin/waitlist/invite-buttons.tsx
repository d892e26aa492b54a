"use client"

import type { ReactNode } from "react"
import { ConfirmButtons } from "@/components/confirm/confirm-buttons"
import { type Entry, invitationOf } from "./invitation"

export function InviteButtons({ entries, children }: { entries: readonly Entry[]; children: ReactNode }) {
  return (
    <ConfirmButtons
      confirmationOf={(_value, _name, ids) => {
        const chosen = entries.filter(({ id }) => ids.includes(id))
        return chosen.length > 0 ? invitationOf(chosen) : undefined
      }}
    >
      {children}
    </ConfirmButtons>
  )
}
