"use client"

import type { ComponentProps, MouseEvent } from "react"

export function TableBody(props: ComponentProps<"tbody">) {
  // biome-ignore lint/a11y/useKeyWithClickEvents: the keyboard reaches the link itself
  return <tbody {...props} onClick={openRow} />
}

function openRow(event: MouseEvent<HTMLElement>): void {
  const target = event.target as Element
  if (target.closest("a, button, label, summary") || !getSelection()?.isCollapsed) return
  const link = target.closest("tr")?.querySelector("[data-opens] a")
  link?.dispatchEvent(new window.MouseEvent("click", event.nativeEvent))
}
