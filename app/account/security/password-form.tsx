"use client"

import { useEffect, useRef } from "react"
import { Button } from "@/components/button"
import { TextField } from "@/components/field"
import { SignedOut } from "@/components/keys/revoke-form"
import { Link } from "@/components/link"
import { Notice } from "@/components/notice"
import { useFormSubmission } from "@/components/use-form-submission"
import { change } from "./actions"

export function PasswordForm({ email, passwordMinLength }: { email: string; passwordMinLength: number }) {
  const { response, lost, pending, form } = useFormSubmission(change)
  const area = useRef<HTMLDivElement>(null)
  const errors = response?.ok === false && response.reason === "invalid" ? response.errors : {}

  useEffect(() => {
    if (response) area.current?.querySelector<HTMLElement>("[aria-invalid=true], [tabindex]")?.focus()
  }, [response])

  return (
    <div ref={area}>
      {response?.ok ? (
        <Changed />
      ) : (
        <form {...form} className="grid gap-4">
          <h2 className="text-base font-semibold">Change password</h2>
          {lost && (
            <Notice tone="bad" role="alert">
              There was no response. Check your connection and try again. If you are signed out, your new password is
              already set.
            </Notice>
          )}
          {response?.reason === "refused" && (
            <Notice tone="bad" role="alert">
              {response.message}
            </Notice>
          )}
          {response?.reason === "signed_out" && (
            <Notice tone="bad" role="alert">
              <SignedOut />
            </Notice>
          )}
          {/* Lets password managers match the password to the account. */}
          <input type="text" name="username" autoComplete="username" value={email} readOnly hidden />
          <TextField
            id="current"
            label="Current password"
            name="current"
            type="password"
            autoComplete="current-password"
            required
            error={errors.current}
          />
          <TextField
            id="password"
            label="New password"
            name="password"
            type="password"
            autoComplete="new-password"
            required
            hint={`At least ${passwordMinLength} characters. A few words you can remember are fine.`}
            error={errors.password}
          />
          <p className="text-muted">This signs out all other browsers. API keys keep working.</p>
          <Button kind="primary" type="submit" aria-disabled={pending} className="justify-self-start">
            Change password
          </Button>
        </form>
      )}
    </div>
  )
}

function Changed() {
  return (
    <div className="grid gap-2">
      <h2 tabIndex={-1} className="text-base font-semibold outline-none">
        Your password was changed
      </h2>
      <p className="text-muted">
        All other browsers are signed out. API keys keep working:{" "}
        <Link href="/api-keys" className="text-accent underline">
          revoke any that you do not recognize
        </Link>
        .
      </p>
    </div>
  )
}
