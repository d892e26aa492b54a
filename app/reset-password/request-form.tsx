"use client"

import { useEffect, useRef } from "react"
import { Button } from "@/components/button"
import { TextField } from "@/components/field"
import { Notice } from "@/components/notice"
import { useFormSubmission } from "@/components/use-form-submission"
import { request } from "./actions"

/** @param email the viewer's address; undefined when signed out */
export function RequestForm({ email, minutes }: { email: string | undefined; minutes: number }) {
  const { response, lost, pending, form } = useFormSubmission(request)
  const area = useRef<HTMLDivElement>(null)

  useEffect(() => {
    if (response) area.current?.querySelector<HTMLElement>("[aria-invalid=true], [tabindex]")?.focus()
  }, [response])

  return (
    <div ref={area}>
      {response?.ok ? (
        <EmailSent minutes={minutes} />
      ) : (
        <form {...form} className="grid gap-4">
          {lost && (
            <Notice tone="bad" role="alert">
              There was no response. Check your connection and try again.
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
            hint="We will email you a link to set a new password."
            defaultValue={response?.email ?? email}
            error={response?.reason === "invalid" ? response.error : undefined}
          />
          <Button kind="primary" type="submit" aria-disabled={pending}>
            Send reset link
          </Button>
        </form>
      )}
    </div>
  )
}

/** Shown for unknown addresses too, so that the page does not reveal which accounts exist. */
function EmailSent({ minutes }: { minutes: number }) {
  return (
    <div className="grid gap-2">
      <h2 tabIndex={-1} className="font-semibold outline-none">
        Check your email
      </h2>
      <p className="text-muted">
        If this address belongs to an account, we sent it an email with a link. It expires after {minutes} minutes and
        works once. Only the link in the latest email works.
      </p>
    </div>
  )
}
