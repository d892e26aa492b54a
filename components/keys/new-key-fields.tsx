"use client"

import { type ReactNode, useState } from "react"
import { longDate } from "@/lib/format-time"
import { type Expires, expiryChoices, expiryOf, type Lifetime, lifetimes, preselectedExpiry } from "@/lib/keys/expiry"
import { RequestId, SelectField, SubmitButton, TextField, useFormField } from "../form/fields"

export function NewKeyFields({ requestId, now, cancel }: { requestId: string; now: string; cancel: ReactNode }) {
  const [started] = useState(() => new Date(now))
  return (
    <>
      <h2 id="creation-title" className="text-base font-semibold">
        Create key
      </h2>
      <RequestId id={requestId} />
      <TextField
        label="Name"
        hint="Where the key will be used, so that you recognize it when you revoke it."
        name="name"
        required
        maxLength={80}
        autoComplete="off"
      />
      <ExpiresFields now={started} />
      <div className="flex flex-wrap justify-end gap-2">
        {cancel}
        <SubmitButton>Create key</SubmitButton>
      </div>
    </>
  )
}

const choices = Object.fromEntries(expiryChoices.map((choice) => [choice, choiceLabel(choice)]))

/** globals.css shows the hint and the date field that match the selected value, so they work without JavaScript. */
function ExpiresFields({ now }: { now: Date }) {
  const [date, setDate] = useState(useFormField("date").value ?? "")
  return (
    <>
      <SelectField
        label="Expires"
        name="expires"
        options={choices}
        defaultValue={preselectedExpiry}
        hint={<Resolved date={date} now={now} />}
      />
      <div data-expires="date">
        <TextField
          label="Last day"
          name="date"
          type="date"
          min={isoDay(now)}
          onChange={(event) => setDate(event.target.value)}
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
