"use client"

import { type FormEvent, type ReactNode, useActionState, useEffect, useRef, useState, useTransition } from "react"
import { CodePanel } from "@/components/code/code-panel"
import { failureOf, failures } from "@/components/form/failures"
import { controlStyle, describedBy, Field } from "@/components/form/field"
import { Button } from "@/components/ui/button"
import type { FormAction } from "@/lib/form/action"
import type { ShownSample } from "./shown-sample"

/** Not `Form`, whose code for proofs of identity is larger than all other code of the start page. */
export function SampleForm({
  action,
  prefilled,
  hint,
  heading,
  children,
}: {
  action: FormAction<"text", ShownSample>
  prefilled: ShownSample
  hint: string
  heading: ReactNode
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
      const result = await action(null, data).catch((error) => refused(failures[failureOf(error)]))
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
          <Field id="sample" label="Your text" hint={hint} error={error}>
            <textarea
              {...describedBy("sample", { hint: true, error })}
              name="text"
              rows={3}
              defaultValue={first?.ok === false ? first.values.text : shown.text}
              {...(error && focus)}
              className={`${controlStyle} h-auto py-1.5 sm:h-auto`}
            />
          </Field>
          <div className="flex min-h-9 flex-wrap items-center gap-x-4 gap-y-2">
            <Button kind="primary" type="submit" aria-disabled={pending} className="px-5">
              Run
            </Button>
            <p role="status" tabIndex={-1} {...(!refusal && focus)} className="font-medium outline-none">
              {!refusal && shown.words}
            </p>
            {refusal?.message && (
              <p role="alert" tabIndex={-1} {...focus} className="text-bad outline-none">
                {refusal.message}
              </p>
            )}
          </div>
        </form>
        {children}
      </div>
      <CodePanel title="Response" code={shown.response} />
    </>
  )
}

function refused(message: string) {
  return { ok: false, message, errors: {}, values: {} } as const
}
