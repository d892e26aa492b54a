"use client"

import { useEffect } from "react"

/** @param selects whether the rows have checkboxes */
export function RowKeys({ selects = false }: { selects?: boolean }) {
  useEffect(() => {
    document.addEventListener("keydown", press)
    return () => document.removeEventListener("keydown", press)
  }, [])
  return (
    <p className="text-xs text-muted max-lg:hidden noscript:hidden print:hidden">
      {(selects ? [...keys, ...selectKeys] : keys).map(([key, meaning]) => (
        <span key={key} className="mr-3">
          <kbd className="rounded border border-line px-1 font-sans">{key}</kbd> {meaning}
        </span>
      ))}
    </p>
  )
}

const keys = [
  ["j", "next row"],
  ["k", "previous row"],
  ["Enter", "open"],
] as const

const selectKeys = [
  ["x", "select"],
  ["a", "act on selected rows"],
] as const

function press(event: KeyboardEvent): void {
  const { key, target } = event
  if (event.ctrlKey || event.metaKey || event.altKey || !(target instanceof Element)) return
  if (target.closest("input:not([type=checkbox]), textarea, select, dialog, [role=dialog], [popover]")) return
  const rows = [...document.querySelectorAll("main .row")].filter(targetIn)
  const current = rows.findIndex((row) => row.contains(target))
  if (key === "j" || key === "k") {
    const next = rows[current < 0 ? 0 : current + (key === "j" ? 1 : -1)]
    if (next) targetIn(next)?.focus()
  } else if (key === "x") rows[current]?.querySelector<HTMLElement>(".select input")?.click()
  else if (key === "a") document.querySelector<HTMLElement>(".selection button")?.focus()
  else return
  event.preventDefault()
}

function targetIn(row: Element): HTMLElement | null {
  return row.querySelector<HTMLElement>("[data-opens] a") ?? row.querySelector<HTMLElement>(".select input")
}
