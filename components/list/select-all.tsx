"use client"

import type { ChangeEvent } from "react"
import { useHydrated } from "@/components/ui/use-hydrated"

export function SelectAll() {
  return (
    useHydrated() && (
      <label className="grid size-6 cursor-pointer place-items-center max-lg:hidden">
        <input
          type="checkbox"
          aria-label="Select all rows of this page"
          autoComplete="off"
          onChange={selectAll}
          className="size-4 accent-accent"
        />
      </label>
    )
  )
}

function selectAll({ target }: ChangeEvent<HTMLInputElement>): void {
  for (const box of target.closest("table")?.querySelectorAll<HTMLInputElement>(".select input") ?? []) {
    box.checked = target.checked
  }
}
