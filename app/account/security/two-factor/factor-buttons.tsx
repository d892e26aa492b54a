"use client"

import type { ReactNode } from "react"
import { ConfirmButtons } from "@/components/confirm/confirm-buttons"
import { factorRemoval, type Named } from "./factor-removal"

export function FactorButtons({ factors, children }: { factors: readonly Named[]; children: ReactNode }) {
  return <ConfirmButtons confirmationOf={(value) => factorRemoval(value, factors)}>{children}</ConfirmButtons>
}
