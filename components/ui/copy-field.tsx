"use client"

import { Check, Copy } from "lucide-react"
import { type ReactNode, useRef } from "react"
import { Button, type ButtonKind } from "./button"
import { useCopy } from "./use-copy"
import { useHydrated } from "./use-hydrated"

/** A field, so that the text can be selected without the copy button. */
export function CopyField({
  id,
  label,
  value,
  copy,
  kind = "plain",
  lines = 1,
  onCopy,
  children,
}: {
  id: string
  label: string
  value: string
  copy: string
  kind?: ButtonKind
  lines?: number
  onCopy?: () => void
  children?: ReactNode
}) {
  const field = useRef<HTMLTextAreaElement>(null)
  const { feedback, copy: copyText } = useCopy(() => {
    field.current?.focus()
    field.current?.select()
  })
  const hydrated = useHydrated()

  async function press() {
    if (await copyText(value)) onCopy?.()
  }

  // Keeps the text away from autofill, password managers and online spell checkers.
  const common = { id, value, readOnly: true, autoComplete: "off", spellCheck: false, "data-1p-ignore": true } as const
  return (
    <div className="grid gap-1.5">
      <label htmlFor={id} className="font-medium">
        {label}
      </label>
      <div className={lines === 1 ? "grid gap-2 sm:flex sm:items-start" : "grid gap-2"}>
        {/* Browsers without field-sizing use the rows. */}
        <textarea
          {...common}
          ref={field}
          rows={Math.max(lines, Math.ceil(value.length / 100))}
          {...(lines === 1 && { onFocus: (event) => event.target.select() })}
          className={`field-sizing-content max-h-80 w-full min-w-0 resize-none rounded-md border border-edge bg-sunken px-2.5 font-mono leading-5 wrap-anywhere ${lines === 1 ? "min-h-9 py-1.5 text-[0.8125rem] sm:min-h-8 sm:py-[0.3125rem]" : "py-2 text-xs"}`}
        />
        {hydrated && (
          <div className="flex shrink-0 flex-wrap gap-2">
            <Button kind={kind} onClick={press}>
              {feedback === "copied" ? (
                <Check aria-hidden="true" className="size-4" />
              ) : (
                <Copy aria-hidden="true" className="size-4" />
              )}
              {copy}
            </Button>
            {children}
          </div>
        )}
      </div>
      {/* The button shows that the text was copied: a visible line would move the content below. */}
      <p role="status" className={feedback === "selected" ? "text-muted" : "sr-only"}>
        {feedback === "copied" && "Copied"}
        {feedback === "selected" && "The browser blocked copying. The text is selected: press Ctrl+C, or ⌘C on a Mac."}
      </p>
    </div>
  )
}
