"use client"

import type { ReactNode } from "react"
import { ConfirmButtons } from "@/components/confirm/confirm-buttons"
import { confirmationOf, type FeedbackAction, type Subject } from "./feedback-actions"

export function FeedbackButtons({
  subjects,
  requestId,
  children,
}: {
  subjects: readonly Subject[]
  requestId: string
  children: ReactNode
}) {
  return (
    <ConfirmButtons
      confirmationOf={(_value, name, ids) => {
        const [first, ...others] = subjects.filter(({ id }) => ids.includes(id))
        return first && confirmationOf(name as FeedbackAction, [first, ...others], requestId)
      }}
    >
      {children}
    </ConfirmButtons>
  )
}
