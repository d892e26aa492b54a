"use client"

import { Check, Copy } from "lucide-react"
import { useRef, useState } from "react"
import { useHydrated } from "./use-hydrated"

/** A short text with a button that copies it; if the browser denies access to the clipboard, selects it instead. */
export function CopyText({
  label,
  ending = false,
  children,
}: {
  label: string
  /** Whether only the end of the text is in view, as of ids that begin alike. */
  ending?: boolean
  children: string
}) {
  const text = useRef<HTMLElement>(null)
  const [feedback, setFeedback] = useState("")
  const hydrated = useHydrated()
  const Icon = feedback === "Copied" ? Check : Copy

  async function copy() {
    setFeedback("")
    try {
      await navigator.clipboard.writeText(children)
      setFeedback("Copied")
    } catch {
      if (text.current) getSelection()?.selectAllChildren(text.current)
      setFeedback("Selected: press Ctrl+C or ⌘C")
    }
  }

  return (
    <span className="inline-flex items-center gap-1">
      <code
        ref={text}
        title={ending ? children : undefined}
        className={`font-mono text-xs ${ending ? "flex w-[12ch] justify-end overflow-hidden whitespace-nowrap text-muted" : "wrap-anywhere"}`}
      >
        {children}
      </code>
      {hydrated && (
        <button
          type="button"
          onClick={copy}
          aria-label={label}
          title={label}
          className="grid size-6 place-items-center rounded-md hover:bg-sunken hover:text-ink"
        >
          <Icon aria-hidden="true" className="size-3.5" />
        </button>
      )}
      <span role="status" className="sr-only">
        {feedback}
      </span>
    </span>
  )
}
