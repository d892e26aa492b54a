"use client"

import { unstable_isUnrecognizedActionError, unstable_rethrow } from "next/navigation"
import {
  createContext,
  type FormEvent,
  type ReactNode,
  useActionState,
  useContext,
  useEffect,
  useId,
  useRef,
  useState,
  useTransition,
} from "react"
import type { FormAction, FormErrors, FormResult, FormValues } from "@/lib/form/action"
import { Link } from "../link"
import { Notice } from "../notice"

/** The last result, and why a submission after it had none. */
type Sent<Result> = { result: Result | null; failed?: keyof typeof failures }

const failures = {
  lost: "There was no response. Check your connection and try again.",
  outdated: "This page is outdated. Reload it and try again.",
}

type FormState = { id: string; pending: boolean; errors: FormErrors; values: FormValues }

const focusable = "[aria-invalid=true], [data-invalid] input, :is(h2, [role=alert])[tabindex='-1']"

const FormContext = createContext<FormState>({ id: "", pending: false, errors: {}, values: {} })

export function useFormState(): FormState {
  return useContext(FormContext)
}

/**
 * Every form. It works without JavaScript; with it, the form is submitted here, because React would reset the form and
 * a lost connection would end in the error page. The action validates, not the browser, so that all errors are ours:
 * the focus moves to the message, or to the first field with an error.
 */
export function Form<Field extends string, Done>({
  action,
  children,
  done,
  unavailable,
  ifLost,
  className = "grid gap-4",
  onDone,
}: {
  action: FormAction<Field, Done>
  /** The fields and the submit button. */
  children: ReactNode
  /** Replaces the form when it is done. */
  done?: ReactNode | ((done: Done) => ReactNode)
  /** Shown instead of the fields when the form cannot be submitted. */
  unavailable?: ReactNode
  /** What submitting the form again would do, for when it is unknown whether it acted. */
  ifLost?: string
  className?: string
  onDone?: ((done: Done) => void) | undefined
}) {
  const [first, submitWithoutScript] = useActionState<FormResult<Field, Done> | null, FormData>(action, null)
  const [sent, setSent] = useState<Sent<FormResult<Field, Done>>>({ result: first })
  const { result, failed } = sent
  const [pending, startTransition] = useTransition()
  const area = useRef<HTMLDivElement>(null)
  const id = useId()

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
          // The page is from an earlier build, whose actions this one does not have.
          const failed = unstable_isUnrecognizedActionError(error) ? ("outdated" as const) : ("lost" as const)
          return { result, failed }
        },
      )
      startTransition(() => {
        setSent(next)
        // Not in an effect: the change may have removed the form from the page.
        if (next.result?.ok) onDone?.(next.result.done)
      })
    })
  }

  useEffect(() => {
    if (sent.result || sent.failed) area.current?.querySelector<HTMLElement>(focusable)?.focus()
  }, [sent])

  const refusal = result?.ok === false ? result : undefined
  const state = { id, pending, errors: (!failed && refusal?.errors) || {}, values: refusal?.values ?? {} }
  const message = (failed && failures[failed]) || (refusal?.signedOut ? <SignedOut /> : refusal?.message)
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
        <form action={submitWithoutScript} onSubmit={submit} noValidate className={className}>
          {notice}
          <FormContext value={state}>{children}</FormContext>
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
