"use client"

import { Done } from "@/components/form/done"
import { SubmitButton, TextField } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { useToasts } from "@/components/overlay/toast"
import { useHydrated } from "@/components/ui/use-hydrated"
import { rename } from "./actions"

/** The form stays, so that a typo can be corrected. */
export function NameForm({ name }: { name: string }) {
  const toasts = useToasts()
  const hydrated = useHydrated()
  const changed = "Your name was changed"
  return (
    <Form action={rename} onDone={() => toasts.show(changed)} {...(!hydrated && { done: <Done title={changed} /> })}>
      <TextField label="Name" name="name" defaultValue={name} autoComplete="name" maxLength={100} required />
      <SubmitButton className="justify-self-start">Change name</SubmitButton>
    </Form>
  )
}
