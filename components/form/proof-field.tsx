"use client"

import dynamic from "next/dynamic"
import { useEffect, useId, useRef } from "react"
import { Button } from "@/components/ui/button"
import { useHydrated } from "@/components/ui/use-hydrated"
import type { ProofRequest } from "@/lib/sign-in/fresh-proof"
import { proofMinutes } from "@/lib/sign-in/proof-minutes"
import { PasswordField, TextField } from "./fields"

/** Only accounts with passkeys load its code. */
const PasskeyProofButton = dynamic(async () => (await import("./passkey-button")).PasskeyProofButton)

type Asked = ProofRequest & { retype: boolean }

export function ProofField({ request }: { request: Asked }) {
  const area = useRef<HTMLFieldSetElement>(null)
  const heading = useId()
  // With JavaScript, the fields keep their values.
  const hydrated = useHydrated()

  // biome-ignore lint/correctness/useExhaustiveDependencies: each result asks again
  useEffect(() => area.current?.querySelector<HTMLElement>("input[name=proof], p[tabindex]")?.focus(), [request])

  return (
    <fieldset
      ref={area}
      aria-labelledby={heading}
      className="grid min-w-0 gap-3 rounded-md border border-edge bg-sunken p-3"
    >
      <p id={heading} className="font-semibold">
        Confirm that it is you
      </p>
      <Proof request={request} />
      {request.retype && !hydrated && (
        <p className="text-warn">Enter the passwords and codes of this form again, too. Everything else is kept.</p>
      )}
    </fieldset>
  )
}

function Proof({ request: { method, email, error, factors } }: { request: Asked }) {
  if (method === "password") {
    return (
      <>
        {/* Lets password managers match the password to the account. */}
        <input type="text" name="username" autoComplete="username" value={email} readOnly hidden />
        <PasswordField
          label="Your password"
          name="proof"
          autoFocus
          hint={`This change needs it, because you have not entered it in the last ${proofMinutes} minutes.`}
        />
      </>
    )
  }
  if (method === "emailed code") {
    return (
      <>
        <TextField
          label="Code from the email"
          name="proof"
          autoFocus
          autoComplete="one-time-code"
          inputMode="numeric"
          maxLength={20}
          required
          hint={`This change needs it. We sent it to ${email}; it works for ${proofMinutes} minutes.`}
        />
        <Button type="submit" name="anotherCode" value="1" className="justify-self-start">
          Send another code
        </Button>
      </>
    )
  }
  const hasCodes = factors?.app || factors?.recoveryCodes
  const why = `This change needs it, because you have not used it in the last ${proofMinutes} minutes.`
  return (
    <>
      {hasCodes ? (
        <TextField
          label={factors?.app ? "Code" : "Recovery code"}
          name="proof"
          autoFocus
          autoComplete="one-time-code"
          autoCapitalize="none"
          spellCheck={false}
          maxLength={60}
          required
          hint={factors?.app ? `From your authenticator app, or a recovery code. ${why}` : why}
        />
      ) : (
        <p tabIndex={-1} role="alert" className={error ? "text-bad" : "text-muted"}>
          {error ?? `Use your passkey. ${why}`}
        </p>
      )}
      {factors?.passkey && (
        <PasskeyProofButton
          name="passkey"
          ceremony={{ use: "get", options: factors.passkey.options }}
          host={factors.passkey.host}
        >
          Use a passkey
        </PasskeyProofButton>
      )}
    </>
  )
}
