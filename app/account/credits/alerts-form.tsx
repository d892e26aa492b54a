"use client"

import { Done } from "@/components/form/done"
import { SubmitButton, TextField } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { useToasts } from "@/components/overlay/toast"
import { useHydrated } from "@/components/ui/use-hydrated"
import type { Alerts } from "@/lib/credits/alerts"
import { changeAlerts } from "./actions"

const fields = { left: "Credits left", spent_day: "Spent in a day", spent_month: "Spent in a month" } as const

export function AlertsForm({ alerts }: { alerts: Alerts }) {
  const toasts = useToasts()
  const hydrated = useHydrated()
  const changed = "Your usage alerts were changed"
  return (
    <Form
      action={changeAlerts}
      onDone={() => toasts.show(changed)}
      {...(!hydrated && { done: <Done title={changed} /> })}
    >
      <div className="grid items-start gap-4 sm:grid-cols-3">
        {(Object.keys(fields) as (keyof typeof fields)[]).map((name) => (
          <TextField
            key={name}
            label={fields[name]}
            name={name}
            inputMode="numeric"
            autoComplete="off"
            placeholder="Off"
            defaultValue={alerts[name]}
          />
        ))}
      </div>
      <SubmitButton kind="plain" className="justify-self-start">
        Save alerts
      </SubmitButton>
    </Form>
  )
}
