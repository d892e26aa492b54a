"use client"

import type { ChangeEvent } from "react"
import { useHydrated } from "@/components/ui/use-hydrated"
import { mostSelected } from "./selected"

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
  const boxes = target.closest("table")?.querySelectorAll<HTMLInputElement>(".select input") ?? []
  for (const [index, box] of boxes.entries()) box.checked = target.checked && index < mostSelected
}
