"use client"

import type { ReactNode } from "react"
import { ConfirmButtons } from "@/components/confirm/confirm-buttons"
import { factorRemoval, type Named } from "./factor-removal"

/** Confirms the buttons of the list inside it: their value is `app`, or the id of a passkey. */
export function FactorButtons({ factors, children }: { factors: readonly Named[]; children: ReactNode }) {
  return <ConfirmButtons confirmationOf={(value) => factorRemoval(value, factors)}>{children}</ConfirmButtons>
}
