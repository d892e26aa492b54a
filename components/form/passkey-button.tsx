"use client"

import {
  browserSupportsWebAuthn,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  startAuthentication,
  startRegistration,
} from "@simplewebauthn/browser"
import { type MouseEvent, useRef, useState } from "react"
import type { ButtonKind } from "@/components/ui/button"
import { useHydrated } from "@/components/ui/use-hydrated"
import type { FormAction } from "@/lib/form/action"
import { SubmitButton } from "./fields"
import { type Refusal, useFormState } from "./form-state"

type Options<Kind> = FormAction<never, Kind> | Kind

type Ceremony =
  | { use: "create"; options: Options<PublicKeyCredentialCreationOptionsJSON> }
  | { use: "get"; options: Options<PublicKeyCredentialRequestOptionsJSON> }

type Shown = {
  ceremony: Ceremony
  /** Browsers offer passkeys only on the host where they were added. */
  host: string
  kind?: ButtonKind
  children: string
}

/** The options come from an action of their own, because a challenge works for a short time. */
export function PasskeyButton(shown: Shown) {
  return <CeremonyButton {...shown} name="response" submit={(form) => form.requestSubmit()} />
}

export function PasskeyProofButton({ name, ...shown }: Shown & { name: string }) {
  const submit = (form: HTMLFormElement) => form.querySelector<HTMLElement>("button[type=submit]")?.click()
  return <CeremonyButton {...shown} name={name} type="button" submit={submit} />
}

function CeremonyButton({
  ceremony,
  host,
  kind = "plain",
  children,
  name,
  type = "submit",
  submit,
}: Shown & { name: string; type?: "submit" | "button"; submit: (form: HTMLFormElement) => void }) {
  const hydrated = useHydrated()
  const { show } = useFormState()
  const field = useRef<HTMLInputElement>(null)
  const [problem, setProblem] = useState<string>()
  const [waiting, setWaiting] = useState(false)
  const obstacle = hydrated ? obstacleTo(host) : undefined

  async function press(event: MouseEvent) {
    event.preventDefault()
    const form = field.current?.form
    if (waiting || !form) return
    setWaiting(true)
    setProblem(undefined)
    const outcome = await perform(ceremony, form).catch((error) => ({ problem: problemOf(error) }))
    setWaiting(false)
    if ("problem" in outcome) return setProblem(outcome.problem)
    if ("refusal" in outcome) return show(outcome.refusal)
    if (!field.current) return
    field.current.value = outcome.response
    submit(form)
  }

  return (
    <div className="grid gap-2">
      <input type="hidden" name={name} ref={field} />
      <SubmitButton
        type={type}
        kind={kind}
        onClick={press}
        disabled={!hydrated || obstacle !== undefined}
        {...(waiting && { "aria-disabled": true })}
      >
        {children}
      </SubmitButton>
      <noscript>
        <p className="text-muted">Passkeys need JavaScript.</p>
      </noscript>
      {obstacle && <p className="text-muted">{obstacle}</p>}
      {problem && (
        <p role="alert" className="text-bad">
          {problem}
        </p>
      )}
    </div>
  )
}

function obstacleTo(host: string): string | undefined {
  if (location.hostname !== host) return `Passkeys work at ${host} only.`
  return browserSupportsWebAuthn() ? undefined : "This browser cannot use passkeys."
}

/** Sends the form with the request for options, because the action may ask for a proof. */
async function perform(
  { use, options }: Ceremony,
  form: HTMLFormElement,
): Promise<{ response: string } | { refusal: Refusal }> {
  const result = typeof options === "function" ? await options(null, new FormData(form)) : { ok: true, done: options }
  if (!result.ok) return { refusal: result as Refusal }
  const { done: optionsJSON } = result as { done: unknown }
  const response =
    use === "create"
      ? await startRegistration({ optionsJSON: optionsJSON as PublicKeyCredentialCreationOptionsJSON })
      : await startAuthentication({ optionsJSON: optionsJSON as PublicKeyCredentialRequestOptionsJSON })
  return { response: JSON.stringify(response) }
}

function problemOf(error: unknown): string {
  const name = error instanceof Error ? error.name : ""
  if (name === "InvalidStateError") return "This device already has a passkey of your account."
  if (name === "NotAllowedError") return "No passkey was used: this was canceled, took too long, or none was found."
  return "This did not work. Check your connection and try again."
}
