import { type FormEvent, useActionState, useState, useTransition } from "react"

/**
 * Submits a form and keeps its input. The form has the action as well, so that it works without JavaScript. With
 * JavaScript it is submitted here: React would reset the form, and a failed request would show the error page.
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

  /** `lost`: the last request got no response, so its outcome is unknown. */
  return { ...sent, pending, form: { action: send, onSubmit } }
}
