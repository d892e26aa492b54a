"use client"

import { useEffect, useRef } from "react"
import { Button, buttonStyle } from "@/components/button"
import { TextField } from "@/components/field"
import { Notice } from "@/components/notice"
import { useFormSubmission } from "@/components/use-form-submission"
import { reset } from "./actions"

type Props = { token: string; live: boolean; minutes: number; passwordMinLength: number }

/** Also shows that a link is invalid. Setting the password uses up the link, but then the success message is shown. */
export function NewPasswordForm({ token, live, minutes, passwordMinLength }: Props) {
  const { response, lost, pending, form } = useFormSubmission(reset)
  const area = useRef<HTMLDivElement>(null)

  useEffect(() => {
    if (response) area.current?.querySelector<HTMLElement>("[aria-invalid=true], [tabindex]")?.focus()
  }, [response])

  return (
    <div ref={area}>
      {response?.ok ? (
        <Done />
      ) : !live || response?.reason === "dead" ? (
        <InvalidLink minutes={minutes} />
      ) : (
        <form {...form} className="grid gap-4">
          {lost && (
            <Notice tone="bad" role="alert">
              There was no response. Check your connection and try again. If the link no longer works, your new password
              is already set.
            </Notice>
          )}
          {response?.reason === "refused" && (
            <Notice tone="bad" role="alert">
              {response.message}
            </Notice>
          )}
          <input type="hidden" name="token" value={token} />
          <TextField
            id="password"
            label="New password"
            name="password"
            type="password"
            autoComplete="new-password"
            required
            hint={`At least ${passwordMinLength} characters. A few words you can remember are fine.`}
            error={response?.reason === "invalid" ? response.error : undefined}
          />
          <p className="text-muted">This signs out all other browsers. API keys keep working.</p>
          <Button kind="primary" type="submit" aria-disabled={pending}>
            Set password
          </Button>
        </form>
      )}
    </div>
  )
}

function Done() {
  return (
    <div className="grid justify-items-start gap-4">
      <h2 tabIndex={-1} className="font-semibold outline-none">
        Your password is set
      </h2>
      <p className="text-muted">
        You are signed in, and all other browsers are signed out. API keys keep working: revoke any that you do not
        recognize.
      </p>
      {/* A full page load, because the session is a new one. */}
      <a href="/api-keys" className={buttonStyle()}>
        Go to your API keys
      </a>
    </div>
  )
}

function InvalidLink({ minutes }: { minutes: number }) {
  return (
    <div className="grid justify-items-start gap-4">
      <h2 tabIndex={-1} className="font-semibold outline-none">
        This link is invalid or has expired
      </h2>
      <p className="text-muted">
        A link works once and expires after {minutes} minutes. Only the link in the latest email works. If you have
        already set a new password, sign in with it.
      </p>
      <div className="flex flex-wrap gap-2">
        <a href="/reset-password" className={buttonStyle()}>
          Request a new link
        </a>
        <a href="/sign-in" className={buttonStyle("quiet")}>
          Sign in
        </a>
      </div>
    </div>
  )
}
