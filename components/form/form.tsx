"use client"

import { unstable_isUnrecognizedActionError, unstable_rethrow } from "next/navigation"
import {
  type ChangeEvent,
  type FormEvent,
  type ReactNode,
  useActionState,
  useEffect,
  useId,
  useRef,
  useState,
  useTransition,
} from "react"
import { Link } from "@/components/ui/link"
import { Notice } from "@/components/ui/notice"
import type { FormAction, FormResult } from "@/lib/form/action"
import { FormContext, type Refusal } from "./form-state"
import { ProofField } from "./proof-field"
import { useViewerId } from "./signed-in-as"

type Sent<Result> = { result: Result | null; failed?: keyof typeof failures }

const failures = {
  lost: "There was no response. Check your connection and try again.",
  outdated: "This page is outdated. Reload it and try again.",
}

const firstControl = ":is(a, button, input:not([type=hidden]), select, textarea)"

const focusable = "[aria-invalid=true], [data-invalid] input, :is(h2, [role=alert], [role=status])[tabindex='-1']"

/**
 * `submit` replaces React's submission, which resets the form and turns a lost connection into the error page.
 * The action validates, not the browser, so that error messages are the same in all browsers.
 */
export function Form<Field extends string, Done>({
  action,
  heading,
  children,
  done,
  unavailable,
  ifLost,
  className = "grid gap-4",
  takesFocus = false,
  onDone,
}: {
  action: FormAction<Field, Done>
  heading?: ReactNode
  children: ReactNode
  done?: ReactNode | ((done: Done) => ReactNode)
  unavailable?: ReactNode
  ifLost?: string
  className?: string
  takesFocus?: boolean
  onDone?: ((done: Done) => void) | undefined
}) {
  const [first, submitWithoutScript] = useActionState<FormResult<Field, Done> | null, FormData>(action, null)
  const [sent, setSent] = useState<Sent<FormResult<Field, Done>>>({ result: first })
  const { result, failed } = sent
  const [corrected, setCorrected] = useState<readonly string[]>([])
  const [pending, startTransition] = useTransition()
  const area = useRef<HTMLDivElement>(null)
  const id = useId()
  const viewerId = useViewerId()

  function show(next: Sent<FormResult<Field, Done>>): void {
    setSent(next)
    setCorrected([])
  }

  function correct({ target }: ChangeEvent<HTMLFormElement>): void {
    setCorrected((names) => [...names, target.name])
  }

  function submit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault()
    const data = new FormData(event.currentTarget, (event.nativeEvent as SubmitEvent).submitter)
    if (pending) return
    startTransition(async () => {
      const next = await action(null, data).then(
        (result) => ({ result }),
        (error) => {
          // A redirect arrives as an error.
          unstable_rethrow(error)
          // An earlier build rendered the page: this build lacks its actions.
          const failed = unstable_isUnrecognizedActionError(error) ? ("outdated" as const) : ("lost" as const)
          return { result, failed }
        },
      )
      startTransition(() => {
        show(next)
        // Not in an effect: the change may have removed the form from the page.
        if (next.result?.ok) onDone?.(next.result.done)
      })
    })
  }

  useEffect(() => {
    if (takesFocus) area.current?.querySelector<HTMLElement>(firstControl)?.focus()
  }, [takesFocus])

  useEffect(() => {
    if (sent.result || sent.failed) area.current?.querySelector<HTMLElement>(focusable)?.focus()
  }, [sent])

  const refusal = result?.ok === false ? result : undefined
  const all = { ...refusal?.errors, ...(refusal?.proof?.error && { proof: refusal.proof.error }) }
  const errors = Object.fromEntries(Object.entries(all).filter(([name]) => !corrected.includes(name)))
  const state = {
    id,
    pending,
    errors: failed ? {} : errors,
    values: refusal?.values ?? {},
    show: (result: Refusal) => show({ result }),
  }
  // Without its fields, the form cannot ask for the proof.
  const expired = unavailable && refusal?.proof && "This took too long. Start again."
  const message = (failed && failures[failed]) || (refusal?.signedOut ? <SignedOut /> : (refusal?.message ?? expired))
  const notice = message && (
    <Notice tone="bad" role="alert" tabIndex={-1}>
      {message} {(failed === "lost" || refusal?.unknown) && ifLost}
    </Notice>
  )
  return (
    <div ref={area}>
      {result?.ok && done !== undefined ? (
        <DoneContent done={done} result={result.done} />
      ) : unavailable ? (
        <div className="grid gap-4">
          {notice}
          {unavailable}
        </div>
      ) : (
        <form action={submitWithoutScript} onSubmit={submit} onChange={correct} noValidate className={className}>
          {viewerId && <input type="hidden" name="viewerId" value={viewerId} />}
          {heading}
          {notice}
          <FormContext value={state}>
            {refusal?.proof && <ProofField request={refusal.proof} />}
            {children}
          </FormContext>
        </form>
      )}
    </div>
  )
}

function DoneContent<Done>({ done, result }: { done: ReactNode | ((done: Done) => ReactNode); result: Done }) {
  return typeof done === "function" ? done(result) : done
}

function SignedOut() {
  return (
    <>
      You are signed out.{" "}
      <Link href="/sign-in" className="underline">
        Sign in
      </Link>{" "}
      and try again.
    </>
  )
}
