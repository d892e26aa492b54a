"use client"

import { Check, Copy } from "lucide-react"
import { useRef, useState } from "react"
import { Button, type ButtonKind } from "./button"
import { controlStyle } from "./field"
import { useHydrated } from "./use-hydrated"

const cannotCopy = "The browser blocked copying. The text is selected: press Ctrl+C, or ⌘C on a Mac."

/** Read-only text in a field, so that it can also be selected without the copy button. */
export function CopyField({
  id,
  label,
  value,
  copy,
  kind = "plain",
  lines = 1,
}: {
  id: string
  label: string
  value: string
  copy: string
  kind?: ButtonKind
  lines?: number
}) {
  const field = useRef<HTMLInputElement & HTMLTextAreaElement>(null)
  const [feedback, setFeedback] = useState<"" | "Copied" | typeof cannotCopy>("")
  const hydrated = useHydrated()

  async function copyValue() {
    setFeedback("")
    try {
      await navigator.clipboard.writeText(value)
      setFeedback("Copied")
    } catch {
      field.current?.focus()
      field.current?.select()
      setFeedback(cannotCopy)
    }
  }

  // Keeps the text away from autofill, password managers and online spell checkers.
  const common = { id, value, readOnly: true, autoComplete: "off", spellCheck: false, "data-1p-ignore": true } as const
  return (
    <div className="grid gap-1.5">
      <label htmlFor={id} className="font-medium">
        {label}
      </label>
      <div className={lines === 1 ? "flex gap-2" : "grid gap-2"}>
        {lines === 1 ? (
          <input
            {...common}
            ref={field}
            onFocus={(event) => event.target.select()}
            className={`${controlStyle} bg-sunken font-mono text-[0.8125rem] sm:text-[0.8125rem]`}
          />
        ) : (
          <textarea
            {...common}
            ref={field}
            rows={lines}
            className="w-full min-w-0 resize-none rounded-md border border-edge bg-sunken px-2.5 py-2 font-mono text-xs leading-5 wrap-anywhere"
          />
        )}
        {hydrated && (
          <Button kind={kind} onClick={copyValue} className="justify-self-start">
            {feedback === "Copied" ? (
              <Check aria-hidden="true" className="size-4" />
            ) : (
              <Copy aria-hidden="true" className="size-4" />
            )}
            {copy}
          </Button>
        )}
      </div>
      <p role="status" className="text-muted">
        {feedback}
      </p>
    </div>
  )
}
