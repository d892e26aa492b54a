"use client"

import type { ComponentProps, MouseEvent } from "react"

/** The rows of a table. Text that is above the link of its row opens it as well, unless it was selected. */
export function TableBody(props: ComponentProps<"tbody">) {
  // biome-ignore lint/a11y/useKeyWithClickEvents: the keyboard reaches the link itself
  return <tbody {...props} onClick={openRow} />
}

function openRow(event: MouseEvent<HTMLElement>): void {
  const target = event.target as Element
  if (target.closest("a, button, input, summary") || !getSelection()?.isCollapsed) return
  const link = target.closest("tr")?.querySelector("[data-opens] a")
  link?.dispatchEvent(new window.MouseEvent("click", event.nativeEvent))
}
