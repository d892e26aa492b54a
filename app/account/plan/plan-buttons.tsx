"use client"

import type { ReactNode } from "react"
import { ConfirmButtons } from "@/components/confirm/confirm-buttons"
import { confirmationOf, type Question } from "./confirmations"

/** Buttons whose name and value are the kind and the plan of a question. */
export function PlanButtons({ questions, children }: { questions: readonly Question[]; children: ReactNode }) {
  return (
    <ConfirmButtons
      confirmationOf={(value, name) => {
        const question = questions.find(({ kind, plan }) => kind === name && plan === value)
        return question && confirmationOf(question)
      }}
    >
      {children}
    </ConfirmButtons>
  )
}
