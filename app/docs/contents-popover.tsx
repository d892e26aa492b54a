"use client"

import type { MouseEvent, ReactNode } from "react"

/** Beside the page on wide screens. */
export function ContentsPopover({ children }: { children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a link that is followed by keyboard is clicked, too
    <nav
      id="contents"
      aria-label="Contents"
      popover="auto"
      onClick={close}
      className="m-0 h-dvh max-h-none w-72 overflow-y-auto border-r border-line bg-panel p-3 text-ink backdrop:bg-veil lg:sticky lg:top-14 lg:-ml-2 lg:block lg:h-[calc(100dvh-3.5rem)] lg:w-auto lg:border-0 lg:bg-transparent lg:px-0 lg:py-4 print:hidden"
    >
      {children}
    </nav>
  )
}

/** A link to a section of the same page would leave it open. */
function close(event: MouseEvent<HTMLElement>): void {
  const link = event.target instanceof Element && event.target.closest("a")
  if (link) event.currentTarget.closest<HTMLElement>(":popover-open")?.hidePopover()
}
