"use client"

import { RecoveryCodes } from "@/components/account/recovery-codes"
import { SubmitButton, TextField } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { PasskeyButton } from "@/components/form/passkey-button"

const refused = async () => ({ ok: false, message: "Nothing is added here.", errors: {}, values: {} }) as const

export function ExamplePasskey({ host }: { host: string }) {
  return (
    <Form action={refused}>
      <TextField label="Name" name="passkey" defaultValue="My laptop" />
      <PasskeyButton ceremony={{ use: "create", options: refused }} host={host} kind="primary">
        Add passkey
      </PasskeyButton>
    </Form>
  )
}

const codes = Array.from({ length: 10 }, (_, index) => `000000-000000-000000-00000${index}`)

/** Not shown at first, because the codes take the focus and ask before the page is left. */
export function ExampleRecoveryCodes() {
  return (
    <Form
      action={async () => ({ ok: true, done: codes })}
      done={(codes) => <RecoveryCodes title="New recovery codes" codes={codes} page="/dev/components" />}
    >
      <SubmitButton kind="plain" className="justify-self-start">
        Create new codes
      </SubmitButton>
    </Form>
  )
}
