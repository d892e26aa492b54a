"use client"

import type { ReactNode } from "react"
import { RecoveryCodes } from "@/components/account/recovery-codes"
import { Done } from "@/components/form/done"
import { SubmitButton, TextField } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { PasskeyButton } from "@/components/form/passkey-button"
import { buttonStyle } from "@/components/ui/button"
import { addApp, addKey, passkeyCreation, replaceCodes } from "./actions"

const page = "/account/security/two-factor"

/** The form outlasts the secret, to show the recovery codes. */
export function AppForm({ unavailable, children }: { unavailable: ReactNode; children: ReactNode }) {
  return (
    <Form
      action={addApp}
      unavailable={unavailable}
      done={(codes) => <Added title="The authenticator app is added" codes={codes} />}
    >
      {children}
      <TextField
        label="Code from the app"
        name="code"
        autoFocus
        inputMode="numeric"
        autoComplete="one-time-code"
        maxLength={12}
        required
      />
      <SubmitButton className="justify-self-start">Add authenticator app</SubmitButton>
    </Form>
  )
}

export function PasskeyForm({ host, browser }: { host: string; browser: string }) {
  return (
    <Form action={addKey} done={(codes) => <Added title="The passkey is added" codes={codes} />}>
      <TextField label="Name" name="name" defaultValue={browser} maxLength={60} autoComplete="off" required />
      <div className="justify-self-start">
        <PasskeyButton ceremony={{ use: "create", options: passkeyCreation }} host={host} kind="primary">
          Add passkey
        </PasskeyButton>
      </div>
    </Form>
  )
}

export function RecoveryForm({ left }: { left: number }) {
  return (
    <Form
      action={replaceCodes}
      done={(codes) => <RecoveryCodes title="New recovery codes" codes={codes} page={page} />}
      ifLost="Earlier codes may no longer work: create new ones again."
    >
      <p className="text-muted">
        {left === 0 ? "You have no codes left." : `You have ${left} ${left === 1 ? "code" : "codes"} left.`}
      </p>
      <SubmitButton kind="plain" className="justify-self-start">
        Create new codes
      </SubmitButton>
    </Form>
  )
}

function Added({ title, codes }: { title: string; codes: readonly string[] | null }) {
  if (codes) return <RecoveryCodes title={title} codes={codes} page={page} />
  return (
    <Done title={title}>
      <p className="text-muted">All other browsers are signed out.</p>
      <a href={page} className={buttonStyle()}>
        Back to two-factor authentication
      </a>
    </Done>
  )
}
