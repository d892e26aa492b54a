"use client"

import type { ReactNode } from "react"
import { ConfirmButtons } from "@/components/confirm/confirm-buttons"
import {
  type CancellationSubject,
  cancellationOf,
  type RefundSubject,
  refundOf,
  type WithdrawalSubject,
  withdrawalOf,
} from "./confirmations"

export function RefundButtons({ subjects, children }: { subjects: readonly RefundSubject[]; children: ReactNode }) {
  return (
    <ConfirmButtons
      confirmationOf={(value) => {
        const order = subjects.find(({ id }) => id === value)
        return order && refundOf(order)
      }}
    >
      {children}
    </ConfirmButtons>
  )
}

export function CancellationButtons({
  subjects,
  children,
}: {
  subjects: readonly CancellationSubject[]
  children: ReactNode
}) {
  return (
    <ConfirmButtons
      confirmationOf={(value) => {
        const subscription = subjects.find(({ id }) => id === value)
        return subscription && cancellationOf(subscription)
      }}
    >
      {children}
    </ConfirmButtons>
  )
}

export function WithdrawalButtons({
  subjects,
  children,
}: {
  subjects: readonly WithdrawalSubject[]
  children: ReactNode
}) {
  return (
    <ConfirmButtons
      confirmationOf={(value) => {
        const request = subjects.find(({ id }) => id === value)
        return request && withdrawalOf(request)
      }}
    >
      {children}
    </ConfirmButtons>
  )
}
