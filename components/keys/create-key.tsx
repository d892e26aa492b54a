"use client"

import { Plus } from "lucide-react"
import { type MouseEvent, type ReactNode, useRef, useState } from "react"
import { CheckboxesField, RequestId, SelectField, TextField, useFormField } from "@/components/form/fields"
import { useFormState } from "@/components/form/form-state"
import { Button } from "@/components/ui/button"
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
import type { CreateAction, Creation, ShownWithKey } from "./key-creation"
import { LimitFields, type LimitRules } from "./limit-fields"
import { KeyCreationInPage, useKeyDialog } from "./load-creation"

type NewKeyForm = {
  action: CreateAction
  requestId: string
  offered: Readonly<Record<string, string>>
  presets: Readonly<Record<string, readonly string[]>> | null
  rules: LimitRules
}

export function CreateKey({ shown, ...form }: NewKeyForm & { shown: ShownWithKey }) {
  const { Dialog, opened, open, close, preload } = useKeyDialog<{ now: string }>()
  const button = useRef<HTMLButtonElement>(null)

  function press(event: MouseEvent) {
    event.preventDefault()
    open({ now: new Date().toISOString() })
  }

  return (
    <>
      <form method="get">
        <Button
          ref={button}
          kind="primary"
          type="submit"
          name="new"
          onClick={press}
          onPointerEnter={preload}
          onFocus={preload}
        >
          <Plus aria-hidden="true" className="size-4" />
          Create key
        </Button>
      </form>
      {Dialog && (
        <Dialog
          creation={opened && newKey({ ...form, ...opened })}
          shown={shown}
          onClose={close}
          focusAfter={() => button.current}
        />
      )}
    </>
  )
}

export function CreateKeyInPage({ shown, ...form }: NewKeyForm & { shown: ShownWithKey; now: string }) {
  return <KeyCreationInPage creation={newKey(form)} shown={shown} />
}

function newKey({ action, ...facts }: NewKeyForm & { now: string }): Creation {
  return { title: "Create key", action, fields: <NewKeyFields {...facts} />, submit: "Create key" }
}

/** `now` is ISO 8601, and the time of the server when the server renders the form. */
function NewKeyFields({ requestId, offered, presets, rules, now }: Omit<NewKeyForm, "action"> & { now: string }) {
  const [started] = useState(() => new Date(now))
  const permissions = (
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
  return (
    <>
      <RequestId id={requestId} />
      <TextField
        label="Name"
        hint="Where the key will be used, so that you recognize it when you revoke it."
        name="name"
        // Before the scripts are loaded, too.
        autoFocus
        required
        maxLength={80}
        autoComplete="off"
      />
      <ExpiresFields now={started} />
      {presets && permissions}
      <Fold
        summary={presets ? "Limit its use" : "Limit what this key can do"}
        fields={presets ? limitFields : ["scopes", ...limitFields]}
      >
        {!presets && permissions}
        <LimitFields rules={rules} />
      </Fold>
    </>
  )
}

const limitFields = ["spendLimit", "spendPeriod", "requestsPerMinute", "addresses"]

function Fold({ summary, fields, children }: { summary: string; fields: readonly string[]; children: ReactNode }) {
  const { errors } = useFormState()
  const [isOpen, setOpen] = useState(false)
  return (
    <details
      open={isOpen || fields.some((name) => errors[name])}
      onToggle={(event) => setOpen(event.currentTarget.open)}
      className="rounded-md border border-line"
    >
      <summary className="cursor-pointer px-3 py-2 font-medium">{summary}</summary>
      <div className="grid gap-4 border-t border-line p-3">{children}</div>
    </details>
  )
}

const expiryLabels = Object.fromEntries(expiryChoices.map((choice) => [choice, labelOf(choice)]))

function labelOf(choice: Expires): string {
  if (choice === "never") return "Never"
  return choice === "date" ? "A date" : lifetimes[choice].label
}

/** globals.css shows the hint and the date field of the selected value, so that both work without JavaScript. */
function ExpiresFields({ now }: { now: Date }) {
  const [date, setDate] = useState(useFormField("date").value ?? "")
  return (
    <>
      <SelectField
        label="Expires"
        name="expires"
        options={expiryLabels}
        defaultValue={preselectedExpiry}
        hint={
          <div aria-live="polite">
            {(Object.keys(lifetimes) as Lifetime[]).map((lifetime) => (
              <p key={lifetime} data-expires={lifetime} suppressHydrationWarning>
                Expires on {resolvedDay(lifetime, now)}.
              </p>
            ))}
            <p data-expires="never">Works until it is revoked.</p>
            <p data-expires="date">{lastDay(date, now)}</p>
          </div>
        }
      />
      <div data-expires="date">
        <TextField
          label="Last day"
          name="date"
          type="date"
          min={now.toISOString().slice(0, 10)}
          onChange={(event) => setDate(event.target.value)}
        />
      </div>
    </>
  )
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
