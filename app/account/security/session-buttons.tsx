"use client"

import type { ReactNode } from "react"
import { ConfirmButtons } from "@/components/confirm/confirm-buttons"
import { type EndableSession, sessionEnding } from "./session-ending"

export function SessionButtons({ sessions, children }: { sessions: readonly EndableSession[]; children: ReactNode }) {
  return (
    <ConfirmButtons confirmationOf={(value) => sessionEnding(value, sessions)} className="grid gap-3">
      {children}
    </ConfirmButtons>
  )
}
