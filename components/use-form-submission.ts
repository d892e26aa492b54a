import { type FormEvent, useActionState, useState, useTransition } from "react"

/**
 * For forms that lose nothing typed. The action stands in the form, so that it works without a script. Where one runs, the
 * form is sent from here: React empties a form whose action it runs itself, and a request that failed would end the page.
 */
export function useFormSubmission<State>(action: (last: State | null, data: FormData) => Promise<State>) {
  const [first, send] = useActionState<State | null, FormData>(action, null)
  const [sent, setSent] = useState<{ response: State | null; lost: boolean }>({ response: first, lost: false })
  const [pending, startTransition] = useTransition()

  function onSubmit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault()
    const data = new FormData(event.currentTarget)
    if (pending) return
    startTransition(async () => {
      const next = await action(null, data).then(
        (response) => ({ response, lost: false }),
        () => ({ response: sent.response, lost: true }),
      )
      startTransition(() => setSent(next))
    })
  }

  /** `lost`: the last request got no answer, so nobody knows what became of it. */
  return { ...sent, pending, form: { action: send, onSubmit } }
}
