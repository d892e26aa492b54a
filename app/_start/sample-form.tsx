"use client"

import { type FormEvent, type ReactNode, useActionState, useEffect, useRef, useState, useTransition } from "react"
import type { FormAction } from "@/lib/form/action"

/** `response` is text if the form was sent without scripts: React cannot keep elements for the page that follows. */
export type ShownSample = { text: string; words: string; response: ReactNode }

/** Not `Form`: its scripts are larger than all others of the start page. The server renders the parts that stay. */
export function SampleForm({
  action,
  prefilled,
  heading,
  label,
  hint,
  fieldStyle,
  codeStyle,
  button,
  children,
}: {
  action: FormAction<"text", ShownSample>
  prefilled: ShownSample
  heading: ReactNode
  label: ReactNode
  hint: ReactNode
  fieldStyle: string
  codeStyle: string
  button: ReactNode
  children: ReactNode
}) {
  const [first, submitWithoutScript] = useActionState(action, null)
  const [shown, setShown] = useState(first?.ok ? first.done : prefilled)
  const [refusal, setRefusal] = useState(first?.ok === false ? first : undefined)
  const [pending, startTransition] = useTransition()
  const form = useRef<HTMLFormElement>(null)
  const error = refusal?.errors.text
  // Without JavaScript, the page with the result is a new one, and starts there.
  const focus = { autoFocus: first !== null }

  function submit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault()
    if (pending) return
    const data = new FormData(event.currentTarget)
    startTransition(async () => {
      const result = await action(null, data).catch(() => lost)
      startTransition(() => {
        setRefusal(result.ok ? undefined : result)
        if (result.ok) setShown(result.done)
      })
    })
  }

  useEffect(() => {
    if (refusal) form.current?.querySelector<HTMLElement>("[aria-invalid=true], [role=alert]")?.focus()
  }, [refusal])

  return (
    <>
      <div className="grid min-w-0 content-start gap-6">
        {heading}
        <form ref={form} action={submitWithoutScript} onSubmit={submit} noValidate className="grid gap-3">
          <div className="grid gap-1.5">
            {label}
            <textarea
              id="sample"
              name="text"
              rows={3}
              defaultValue={first?.ok === false ? first.values.text : shown.text}
              aria-describedby="sample-note"
              aria-invalid={error !== undefined}
              {...(error && focus)}
              className={fieldStyle}
            />
            {error ? (
              <p id="sample-note" role="alert" className="text-bad">
                {error}
              </p>
            ) : (
              hint
            )}
          </div>
          <div aria-busy={pending} className="group flex flex-wrap items-center gap-x-4 gap-y-2">
            {button}
            <p role="status" tabIndex={-1} {...(!refusal && focus)} className="font-medium outline-none">
              {!refusal && `${shown === prefilled ? "" : "✓ "}${shown.words}`}
            </p>
            {refusal?.message && (
              <p role="alert" tabIndex={-1} {...focus} className="text-bad">
                {refusal.message}
              </p>
            )}
          </div>
        </form>
        {children}
      </div>
      {typeof shown.response === "string" ? (
        <figure aria-label="Response" className={codeStyle}>
          <code>{shown.response}</code>
        </figure>
      ) : (
        shown.response
      )}
    </>
  )
}

const lost = {
  ok: false,
  message: "There was no response. Check your connection and try again, or reload the page.",
  errors: {},
  values: {},
} as const
