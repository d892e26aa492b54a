"use client"

import { useEffect } from "react"

/** Selects the field when `/` is pressed outside a field. */
export function SearchKey({ fieldId }: { fieldId: string }) {
  useEffect(() => {
    function select(event: KeyboardEvent): void {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return
      if (event.target instanceof Element && event.target.closest("input, textarea, select, [role=dialog]")) return
      event.preventDefault()
      document.querySelector<HTMLInputElement>(`#${fieldId}`)?.select()
    }
    document.addEventListener("keydown", select)
    return () => document.removeEventListener("keydown", select)
  }, [fieldId])

  return null
}
