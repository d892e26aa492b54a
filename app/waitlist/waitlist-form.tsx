"use client"

import { useEffect, useRef } from "react"
import { Button, buttonStyle } from "@/components/button"
import { TextAreaField, TextField } from "@/components/field"
import { Link } from "@/components/link"
import { Notice } from "@/components/notice"
import { useFormSubmission } from "@/components/use-form-submission"
import { join } from "./actions"

export function WaitlistForm({ source, noteMaxLength }: { source: string; noteMaxLength: number }) {
  const { response, lost, pending, form } = useFormSubmission(join)
  const area = useRef<HTMLDivElement>(null)
  const values = response?.ok === false ? response.values : { email: "", note: "" }
  const errors = response?.ok === false && response.reason === "invalid" ? response.errors : {}

  useEffect(() => {
    if (response) area.current?.querySelector<HTMLElement>("[aria-invalid=true], [tabindex]")?.focus()
  }, [response])

  return (
    <div ref={area}>
      {response?.ok ? (
        <OnTheList />
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
          <input type="hidden" name="source" value={source} />
          <TextField
            id="email"
            label="Email"
            name="email"
            type="email"
            autoComplete="email"
            required
            defaultValue={values.email}
            error={errors.email}
          />
          <TextAreaField
            id="note"
            label="Note (optional)"
            name="note"
            rows={4}
            hint={`What would you use tsk for? At most ${noteMaxLength.toLocaleString("en")} characters.`}
            defaultValue={values.note}
            error={errors.note}
          />
          <Button kind="primary" type="submit" aria-disabled={pending}>
            Join the waitlist
          </Button>
        </form>
      )}
    </div>
  )
}

/** Shown for an address that was already on the list too. */
function OnTheList() {
  return (
    <div className="grid justify-items-start gap-4">
      <h2 tabIndex={-1} className="font-semibold outline-none">
        You are on the waitlist
      </h2>
      <p className="text-muted">We will email this address when a place becomes available.</p>
      <Link href="/" className={buttonStyle()}>
        Go to the home page
      </Link>
    </div>
  )
}
