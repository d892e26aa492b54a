"use client"

import type { ReactNode } from "react"
import { Panel } from "@/components/page/page-frame"
import { buttonStyle } from "@/components/ui/button"
import { Link } from "@/components/ui/link"
import { Notice } from "@/components/ui/notice"
import { type Confirmation, ConfirmForm } from "./confirm-form"
import { MessageText } from "./message-text"

export function ConfirmPanel({
  confirmation,
  unavailable,
  page,
  back,
}: {
  confirmation: Confirmation
  unavailable?: ReactNode
  page: string
  back: string
}) {
  const link = (
    <Link href={page} className="underline">
      {back}
    </Link>
  )
  return (
    <Panel label={confirmation.title}>
      <h2 className="text-base font-semibold">{confirmation.title}</h2>
      {!unavailable && <p className="text-muted">{confirmation.description}</p>}
      <ConfirmForm
        confirmation={confirmation}
        takesFocus
        done={(message) => (
          <Notice tone="good" role="status" tabIndex={-1}>
            <MessageText message={message} /> {link}
          </Notice>
        )}
        unavailable={
          unavailable && (
            <Notice tone="warn">
              {unavailable} {link}
            </Notice>
          )
        }
        cancel={
          <Link href={page} className={buttonStyle()}>
            {confirmation.dismiss ?? "Cancel"}
          </Link>
        }
      />
    </Panel>
  )
}
