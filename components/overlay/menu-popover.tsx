"use client"

import type { KeyboardEvent, ReactNode, ToggleEvent } from "react"

export function MenuPopover({ id, className, children }: { id: string; className: string; children: ReactNode }) {
  function focusFirst(event: ToggleEvent<HTMLElement>): void {
    if (event.newState === "open") itemsOf(event.currentTarget)[0]?.focus({ preventScroll: true })
  }

  function move(event: KeyboardEvent<HTMLElement>): void {
    const items = itemsOf(event.currentTarget)
    const current = items.indexOf(document.activeElement as HTMLElement)
    const targets: Readonly<Record<string, number>> = {
      ArrowDown: (current + 1) % items.length,
      ArrowUp: (current - 1 + items.length) % items.length,
      Home: 0,
      End: items.length - 1,
    }
    const target = targets[event.key]
    if (target === undefined) return
    event.preventDefault()
    items[target]?.focus()
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the items inside it have the focus
    <div id={id} popover="auto" onToggle={focusFirst} onKeyDown={move} className={className}>
      {children}
    </div>
  )
}

function itemsOf(menu: HTMLElement): HTMLElement[] {
  return [...menu.querySelectorAll<HTMLElement>("button, a")]
}
