"use client"

import { useEffect, useRef } from "react"
import { Button } from "@/components/button"
import { TextField } from "@/components/field"
import { Notice } from "@/components/notice"
import { useFormSubmission } from "@/components/use-form-submission"
import { request } from "./actions"

/** `email`: the viewer's, if somebody is signed in. */
export function RequestForm({ email, minutes }: { email: string | undefined; minutes: number }) {
  const { response, lost, pending, form } = useFormSubmission(request)
  const area = useRef<HTMLDivElement>(null)

  useEffect(() => {
    if (response) area.current?.querySelector<HTMLElement>("[aria-invalid=true], [tabindex]")?.focus()
  }, [response])

  return (
    <div ref={area}>
      {response?.ok ? (
        <Asked minutes={minutes} />
      ) : (
        <form {...form} className="grid gap-4">
          {lost && (
            <Notice tone="bad" role="alert">
              There was no response. Check your connection and send it again.
            </Notice>
          )}
          {response?.reason === "refused" && (
            <Notice tone="bad" role="alert">
              {response.message}
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
            defaultValue={response?.email ?? email}
            error={response?.reason === "invalid" ? response.error : undefined}
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
        If this address belongs to an account, a message with a link is on its way. The link works once, within{" "}
        {minutes} minutes, and only the one of the latest message does.
      </p>
    </div>
  )
}
