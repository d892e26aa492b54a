"use client"

import { useEffect, useRef } from "react"
import { Button } from "@/components/button"
import { TextField } from "@/components/field"
import { Notice } from "@/components/notice"
import { useSending } from "@/components/use-sending"
import { request } from "./actions"

/** `email`: the viewer's, if somebody is signed in. */
export function RequestForm({ email, minutes }: { email: string | undefined; minutes: number }) {
  const { answer, lost, pending, form } = useSending(request)
  const area = useRef<HTMLDivElement>(null)

  useEffect(() => {
    if (answer) area.current?.querySelector<HTMLElement>("[aria-invalid=true], [tabindex]")?.focus()
  }, [answer])

  return (
    <div ref={area}>
      {answer?.ok ? (
        <Asked minutes={minutes} />
      ) : (
        <form {...form} className="grid gap-4">
          {lost && (
            <Notice tone="bad" role="alert">
              There was no answer. Check your connection and send it again.
            </Notice>
          )}
          {answer?.reason === "refused" && (
            <Notice tone="bad" role="alert">
              {answer.message}
            </Notice>
          )}
          <TextField
            id="email"
            label="Email"
            name="email"
            type="email"
            autoComplete="username"
            required
            hint="We send you a link that sets a new password."
            defaultValue={answer?.email ?? email}
            error={answer?.reason === "invalid" ? answer.error : undefined}
          />
          <Button kind="primary" type="submit" aria-disabled={pending}>
            Send the link
          </Button>
        </form>
      )}
    </div>
  )
}

/** The same for an address that belongs to nobody. */
function Asked({ minutes }: { minutes: number }) {
  return (
    <div className="grid gap-2">
      <h2 tabIndex={-1} className="font-semibold outline-none">
        Look into your mailbox
      </h2>
      <p className="text-muted">
        If this address belongs to an account, a letter with a link is on its way. The link works once, within {minutes}{" "}
        minutes, and only the one of the latest letter does.
      </p>
    </div>
  )
}
