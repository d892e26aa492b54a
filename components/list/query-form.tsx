"use client"

import { useRouter } from "next/navigation"
import { type ComponentProps, useEffect, useRef, useTransition } from "react"
import { PendingBar } from "@/components/ui/pending-bar"
import { useHydrated } from "@/components/ui/use-hydrated"

/** A changed field opens its page; text that is no search does once it is left or submitted. */
export function QueryForm({
  action,
  query,
  children,
  ...properties
}: ComponentProps<"form"> & { action: string; query: string }) {
  const router = useRouter()
  const [pending, startTransition] = useTransition()
  const hydrated = useHydrated()
  const form = useRef<HTMLFormElement>(null)
  const sent = useRef<{ fields: FormData; query: string; isTyped: boolean }>(null)
  const shown = useRef(query)
  const timer = useRef(0)

  function open(isTyped = false): void {
    clearTimeout(timer.current)
    if (!form.current?.checkValidity()) return
    const fields = new FormData(form.current)
    const query = String(new URLSearchParams([...fields].filter(([, value]) => value !== "") as [string, string][]))
    if (query === sent.current?.query || sorted(query) === sorted(shown.current)) return
    // Back leads to the page before the search, not to a part of its text.
    const isRefined = isTyped && sent.current?.isTyped
    sent.current = { fields, query, isTyped }
    const address = query ? `${action}?${query}` : action
    startTransition(() => (isRefined ? router.replace(address) : router.push(address)))
  }

  function openSoon(isTyped: boolean): void {
    clearTimeout(timer.current)
    timer.current = window.setTimeout(() => open(isTyped), 400)
  }

  useEffect(() => {
    if (shown.current === query) return
    shown.current = query
    const parameters = new URLSearchParams(query)
    for (const field of form.current?.elements ?? []) {
      const isField = field instanceof HTMLInputElement || field instanceof HTMLSelectElement
      // Text that was typed since stays.
      if (!isField || (sent.current && field.value !== sent.current.fields.get(field.name))) continue
      if (field instanceof HTMLInputElement) field.value = field.defaultValue
      else field.value = parameters.get(field.name) ?? ""
      // The first option is the default, whose value no option has.
      if (field instanceof HTMLSelectElement && field.selectedIndex < 0) field.selectedIndex = 0
    }
    if (sent.current?.query === query) return
    // A link has opened the page.
    sent.current = null
    closeMenu(form.current)
  }, [query])

  useEffect(() => {
    const element = form.current
    // React's event of a change is each letter.
    const change = ({ target }: Event) => {
      // A date changes with each digit of its year.
      if (target instanceof HTMLInputElement && target.type === "date") openSoon(false)
      else open()
    }
    element?.addEventListener("change", change)
    return () => element?.removeEventListener("change", change)
  })

  return (
    <form
      {...properties}
      ref={form}
      action={action}
      data-live={hydrated || undefined}
      onInput={({ target }) => target instanceof HTMLInputElement && target.name === "q" && openSoon(true)}
      onSubmit={(event) => {
        event.preventDefault()
        closeMenu(event.currentTarget)
        open()
      }}
    >
      {pending && <PendingBar />}
      {children}
    </form>
  )
}

function closeMenu(form: HTMLFormElement | null): void {
  form?.querySelector<HTMLElement>(":popover-open")?.hidePopover()
}

/** The parameters of the fields: a form has no place in the list. */
function sorted(query: string): string {
  const parameters = new URLSearchParams(query)
  for (const name of ["offset", "cursor"]) parameters.delete(name)
  parameters.sort()
  return String(parameters)
}
