"use client"

import { Check, Copy } from "lucide-react"
import { useRef } from "react"
import { shortFeedback, useCopy } from "./use-copy"
import { useHydrated } from "./use-hydrated"

export function CopyText({
  label,
  ending = false,
  children,
}: {
  label: string
  /** Shows only the end, for ids that begin alike. */
  ending?: boolean
  children: string
}) {
  const text = useRef<HTMLElement>(null)
  const { feedback, copy } = useCopy(() => text.current && getSelection()?.selectAllChildren(text.current))
  const hydrated = useHydrated()
  const Icon = feedback === "copied" ? Check : Copy

  return (
    <span className="inline-flex min-h-6 items-center gap-1">
      <code
        ref={text}
        title={ending ? children : undefined}
        className={`font-mono text-xs ${ending ? "flex w-[12ch] justify-end max-[22rem]:w-[6ch] overflow-hidden whitespace-nowrap text-muted" : "wrap-anywhere"}`}
      >
        {children}
      </code>
      {hydrated && (
        <button
          type="button"
          onClick={() => copy(children)}
          aria-label={label}
          title={label}
          className="grid size-6 place-items-center rounded-md hover:bg-sunken hover:text-ink"
        >
          <Icon aria-hidden="true" className="size-3.5" />
        </button>
      )}
      <span role="status" className="sr-only">
        {shortFeedback[feedback]}
      </span>
    </span>
  )
}
