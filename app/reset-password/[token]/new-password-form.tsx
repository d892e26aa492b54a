"use client"

import { useEffect, useRef } from "react"
import { Button, buttonStyle } from "@/components/button"
import { TextField } from "@/components/field"
import { Notice } from "@/components/notice"
import { useFormSubmission } from "@/components/use-form-submission"
import { reset } from "./actions"

type Props = { token: string; live: boolean; minutes: number; passwordMinLength: number }

/** Also says that a link is dead: the one that has just done its work is, and the page must then say something else. */
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
        <Dead minutes={minutes} />
      ) : (
        <form {...form} className="grid gap-4">
          {lost && (
            <Notice tone="bad" role="alert">
              There was no response. Check your connection and send it again. If the link is used up then, the new
              password holds already.
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
          <p className="text-muted">Signs out every other browser. API keys go on working.</p>
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
        You are signed in here, and every other browser is signed out. API keys go on working: revoke those you do not
        know.
      </p>
      {/* A whole load and not a soft one: it belongs to another session. */}
      <a href="/api-keys" className={buttonStyle()}>
        To your API keys
      </a>
    </div>
  )
}

function Dead({ minutes }: { minutes: number }) {
  return (
    <div className="grid justify-items-start gap-4">
      <h2 tabIndex={-1} className="font-semibold outline-none">
        This link does not work
      </h2>
      <p className="text-muted">
        A link works once and for {minutes} minutes, and only the one of the latest email does. If you have set the
        password already, sign in with it.
      </p>
      <div className="flex flex-wrap gap-2">
        <a href="/reset-password" className={buttonStyle()}>
          Send another link
        </a>
        <a href="/sign-in" className={buttonStyle("quiet")}>
          Sign in
        </a>
      </div>
    </div>
  )
}
