"use client"

import { type ReactNode, useState } from "react"
import { CheckboxesField, RequestId, SelectField, TextField, useFormField } from "@/components/form/fields"
import { useFormState } from "@/components/form/form-state"
import {
  badDate,
  type Expires,
  expiryChoices,
  expiryOf,
  type Lifetime,
  lifetimes,
  preselectedExpiry,
} from "@/lib/keys/choices"
import { plainDate } from "@/lib/platform/text/format-time"
import { LimitFields, type LimitRules } from "../list/limit-fields"

export type NewKeyFacts = {
  requestId: string
  /** The scopes that the viewer can give to the key, with their meanings. */
  offered: Readonly<Record<string, string>>
  /** See presetsOf. */
  presets: Readonly<Record<string, readonly string[]>> | null
  rules: LimitRules
  /** ISO 8601; the server's time when the server renders the form. */
  now: string
}

export function NewKeyFields({ requestId, offered, presets, rules, now }: NewKeyFacts) {
  const [started] = useState(() => new Date(now))
  const permissions = <PermissionsField offered={offered} presets={presets} />
  return (
    <>
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
      {presets && permissions}
      <Fold summary={presets ? "Limit its use" : "Limit what this key can do"} names={limitNames}>
        {!presets && permissions}
        <LimitFields rules={rules} />
      </Fold>
    </>
  )
}

function PermissionsField({ offered, presets }: Pick<NewKeyFacts, "offered" | "presets">) {
  return (
    <CheckboxesField
      label="Permissions"
      hint={
        presets
          ? "Choose what this key needs: its permissions cannot be changed later."
          : "They cannot be changed later."
      }
      name="scopes"
      presets={presets}
      options={Object.fromEntries(
        Object.entries(offered).map(([scope, meaning]) => [
          scope,
          <>
            <code className="font-mono text-[0.8125rem]">{scope}</code> <span className="text-muted">{meaning}</span>
          </>,
        ]),
      )}
    />
  )
}

const limitNames = ["scopes", "spendLimit", "spendPeriod", "requestsPerMinute", "addresses"]

/** Fields that are folded at first. It unfolds when one of them has an error. */
function Fold({ summary, names, children }: { summary: string; names: readonly string[]; children: ReactNode }) {
  const { errors } = useFormState()
  const [isOpen, setOpen] = useState(false)
  return (
    <details
      open={isOpen || names.some((name) => errors[name])}
      onToggle={(event) => setOpen(event.currentTarget.open)}
      className="rounded-md border border-line"
    >
      <summary className="cursor-pointer px-3 py-2 font-medium">{summary}</summary>
      <div className="grid gap-4 border-t border-line p-3">{children}</div>
    </details>
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
  return end instanceof Date ? plainDate(end) : ""
}

function lastDay(date: string, now: Date): string {
  const end = date === "" ? null : expiryOf({ expires: "date", date }, now)
  if (end === "bad_date") return badDate
  return end ? `Expires at the end of ${plainDate(end)}, UTC.` : "Expires at the end of the day you choose, UTC."
}

function isoDay(date: Date): string {
  return date.toISOString().slice(0, 10)
}
