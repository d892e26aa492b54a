"use client"

import { useRef, useState } from "react"
import { useHydrated } from "@/components/use-hydrated"

/** Copies the code of the enclosing figure; if the browser denies access to the clipboard, selects the code instead. */
export function CopyButton({ label }: { label: string }) {
  const button = useRef<HTMLButtonElement>(null)
  const [feedback, setFeedback] = useState("")
  const hydrated = useHydrated()

  async function copy() {
    const code = button.current?.closest("figure")?.querySelector("code")
    if (!code) return
    setFeedback("")
    try {
      await navigator.clipboard.writeText(code.textContent)
      setFeedback("Copied")
    } catch {
      getSelection()?.selectAllChildren(code)
      setFeedback("Selected: press Ctrl+C or ⌘C")
    }
  }

  return (
    <span className="flex items-center gap-2">
      <span role="status">{feedback}</span>
      {hydrated && (
        <button
          ref={button}
          type="button"
          onClick={copy}
          className="-mr-1.5 h-7 rounded-md px-2 font-medium text-muted hover:bg-sunken hover:text-ink"
        >
          Copy<span className="sr-only"> {label}</span>
        </button>
      )}
    </span>
  )
}
