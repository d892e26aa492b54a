"use client"

import { useRef } from "react"
import { shortFeedback, useCopy } from "@/components/ui/use-copy"
import { useHydrated } from "@/components/ui/use-hydrated"

export function CopyButton({ label }: { label: string }) {
  const button = useRef<HTMLButtonElement>(null)
  const hydrated = useHydrated()
  const code = () => button.current?.closest("figure")?.querySelector("code") as HTMLElement
  const { feedback, copy } = useCopy(() => getSelection()?.selectAllChildren(code()))

  return (
    <span className="flex items-center gap-2">
      <span role="status">{shortFeedback[feedback]}</span>
      {hydrated && (
        <button
          ref={button}
          type="button"
          onClick={() => copy(code().textContent)}
          className="-mr-1.5 h-7 rounded-md px-2 font-medium text-muted hover:bg-sunken hover:text-ink"
        >
          Copy<span className="sr-only"> {label}</span>
        </button>
      )}
    </span>
  )
}
