"use client"

import { type ReactNode, startTransition, useEffect, useRef, useState } from "react"
import { longDate } from "@/lib/format-time"
import type { CreateKeyState, NewKeyErrors, NewKeyValues } from "@/lib/keys/actions"
import { type Expires, expiryChoices, expiryOf, type Lifetime, lifetimes, preselectedExpiry } from "@/lib/keys/expiry"
import { Button } from "../button"
import { controlStyle, describedBy, Field, TextField } from "../field"
import { Notice } from "../notice"
import { SignedOut } from "./revoke-form"

export type Unissued = Exclude<CreateKeyState, { ok: true } | { reason: "already_issued" }>

const empty: NewKeyValues = { name: "", expires: preselectedExpiry, date: "" }

export function NewKeyForm({
  response,
  send,
  pending,
  requestId,
  now,
  cancel,
}: {
  response: Unissued | null
  send: (data: FormData) => void
  pending: boolean
  requestId: string
  now: Date
  cancel: ReactNode
}) {
  // Stays the same when the page is rendered again: submitting one form twice creates only one key.
  const [formId] = useState(requestId)
  const form = useRef<HTMLFormElement>(null)
  const values = response?.values ?? empty
  const errors: NewKeyErrors = response?.reason === "invalid" ? response.errors : {}

  useEffect(() => {
    if (response) form.current?.querySelector<HTMLElement>("[aria-invalid=true], button[type=submit]")?.focus()
  }, [response])

  return (
    <form
      ref={form}
      action={send}
      onSubmit={(event) => {
        // React resets a form after it runs the form's action, even if the submission was refused.
        event.preventDefault()
        const data = new FormData(event.currentTarget)
        if (!pending) startTransition(() => send(data))
      }}
      className="grid gap-4"
    >
      <h2 id="creation-title" className="text-base font-semibold">
        Create key
      </h2>
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
      <input type="hidden" name="requestId" value={formId} />
      <TextField
        id="key-name"
        label="Name"
        hint="Where the key will be used, so that you recognize it when you revoke it."
        name="name"
        required
        maxLength={80}
        autoComplete="off"
        defaultValue={values.name}
        error={errors.name}
      />
      <ExpiresField values={values} errors={errors} now={now} />
      <div className="flex flex-wrap justify-end gap-2">
        {cancel}
        <Button kind="primary" type="submit" aria-disabled={pending}>
          Create key
        </Button>
      </div>
    </form>
  )
}

/** globals.css shows the hint and the date field that match the selected value, so they work without JavaScript. */
function ExpiresField({ values, errors, now }: { values: NewKeyValues; errors: NewKeyErrors; now: Date }) {
  const [date, setDate] = useState(values.date)
  return (
    <>
      <Field id="key-expires" label="Expires" error={errors.expires} hint={<Resolved date={date} now={now} />}>
        <select
          {...describedBy("key-expires", { hint: true, error: errors.expires })}
          name="expires"
          defaultValue={values.expires}
          className={controlStyle}
        >
          {expiryChoices.map((choice) => (
            <option key={choice} value={choice}>
              {choiceLabel(choice)}
            </option>
          ))}
        </select>
      </Field>
      <div data-expires="date">
        <TextField
          id="key-date"
          label="Last day"
          name="date"
          type="date"
          min={isoDay(now)}
          defaultValue={values.date}
          onChange={(event) => setDate(event.target.value)}
          error={errors.date}
        />
      </div>
    </>
  )
}

function Resolved({ date, now }: { date: string; now: Date }) {
  return (
    <div aria-live="polite">
      {(Object.keys(lifetimes) as Lifetime[]).map((lifetime) => (
        <p key={lifetime} data-expires={lifetime} suppressHydrationWarning>
          Expires on {resolvedDay(lifetime, now)}.
        </p>
      ))}
      <p data-expires="never">Works until it is revoked.</p>
      <p data-expires="date">{lastDay(date, now)}</p>
    </div>
  )
}

function choiceLabel(choice: Expires): string {
  if (choice === "never") return "Never"
  return choice === "date" ? "A date" : lifetimes[choice].label
}

function resolvedDay(lifetime: Lifetime, now: Date): string {
  const end = expiryOf({ expires: lifetime }, now)
  return end instanceof Date ? longDate(end) : ""
}

function lastDay(date: string, now: Date): string {
  const end = date === "" ? null : expiryOf({ expires: "date", date }, now)
  if (end === "bad_date") return "Choose a date from today to ten years from now."
  return end ? `Expires at the end of ${longDate(end)}, UTC.` : "Expires at the end of the day you choose, UTC."
}

function isoDay(date: Date): string {
  return date.toISOString().slice(0, 10)
}
