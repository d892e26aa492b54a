"use client"

import { Done } from "@/components/form/done"
import { SelectField, SubmitButton, TextField } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { useToasts } from "@/components/overlay/toast"
import { useHydrated } from "@/components/ui/use-hydrated"
import { changeTopUp, endTopUp } from "./actions"

type Settings = { below: number; pack: number; maxPerMonth: number }

export function TopUpForm({
  settings,
  packs,
  currency,
  submit,
}: {
  settings: Settings | null
  /** The labels of packs by their credits. */
  packs: Readonly<Record<string, string>>
  currency: string
  submit: string
}) {
  const toasts = useToasts()
  const hydrated = useHydrated()
  const changed = "Automatic top-up is on"
  return (
    <Form
      action={changeTopUp}
      onDone={() => toasts.show(changed)}
      {...(!hydrated && { done: <Done title={changed} /> })}
    >
      <input type="hidden" name="currency" value={currency} />
      <div className="grid items-start gap-4 sm:grid-cols-[1fr_1.5fr_1fr]">
        <TextField label="Below (credits)" name="below" inputMode="numeric" defaultValue={settings?.below ?? 100} />
        <SelectField
          label="Buy"
          name="pack"
          options={packs}
          defaultValue={String(settings?.pack ?? Object.keys(packs)[0])}
        />
        <TextField
          label="Maximum per month"
          name="maxPerMonth"
          inputMode="numeric"
          defaultValue={settings?.maxPerMonth ?? 1}
        />
      </div>
      <SubmitButton kind="plain" className="justify-self-start">
        {submit}
      </SubmitButton>
    </Form>
  )
}

export function EndTopUpForm() {
  const toasts = useToasts()
  const hydrated = useHydrated()
  const changed = "Automatic top-up is off"
  return (
    <Form action={endTopUp} onDone={() => toasts.show(changed)} {...(!hydrated && { done: <Done title={changed} /> })}>
      <SubmitButton kind="danger-quiet" className="justify-self-start border border-line">
        Turn off
      </SubmitButton>
    </Form>
  )
}
