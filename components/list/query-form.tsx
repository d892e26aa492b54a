"use client"

import { useRouter } from "next/navigation"
import { type ComponentProps, type SubmitEvent, useTransition } from "react"
import { PendingBar } from "@/components/ui/pending-bar"

export function QueryForm({ action, children, ...properties }: ComponentProps<"form"> & { action: string }) {
  const router = useRouter()
  const [pending, startTransition] = useTransition()

  function submit(event: SubmitEvent<HTMLFormElement>): void {
    event.preventDefault()
    event.currentTarget.querySelector<HTMLElement>(":popover-open")?.hidePopover()
    const fields = [...new FormData(event.currentTarget)].filter(
      ([, value]) => typeof value === "string" && value !== "",
    )
    const query = new URLSearchParams(fields as [string, string][])
    startTransition(() => router.push(query.size > 0 ? `${action}?${query}` : action))
  }

  return (
    <form action={action} onSubmit={submit} {...properties}>
      {pending && <PendingBar />}
      {children}
    </form>
  )
}
