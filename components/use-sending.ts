import { type FormEvent, useActionState, useState, useTransition } from "react"

/**
 * For forms that lose nothing typed. The action stands in the form, so that it works without a script. Where one runs, the
 * form is sent from here: React empties a form whose action it runs itself, and a request that failed would end the page.
 */
export function useSending<Answer>(action: (last: Answer | null, data: FormData) => Promise<Answer>) {
  const [first, send] = useActionState<Answer | null, FormData>(action, null)
  const [sent, setSent] = useState<{ answer: Answer | null; lost: boolean }>({ answer: first, lost: false })
  const [pending, startTransition] = useTransition()

  function onSubmit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault()
    const data = new FormData(event.currentTarget)
    if (pending) return
    startTransition(async () => {
      const next = await action(null, data).then(
        (answer) => ({ answer, lost: false }),
        () => ({ answer: sent.answer, lost: true }),
      )
      startTransition(() => setSent(next))
    })
  }

  /** `lost`: the last request got no answer, so nobody knows what became of it. */
  return { ...sent, pending, form: { action: send, onSubmit } }
}
