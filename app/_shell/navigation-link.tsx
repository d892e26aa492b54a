"use client"

import { usePathname } from "next/navigation"
import type { MouseEvent, ReactNode } from "react"
import { Link } from "@/components/link"

/** Marks the current page, and closes the sidebar when it is open as a popover. */
export function NavigationLink({ href, children }: { href: string; children: ReactNode }) {
  const current = usePathname() === href
  return (
    <Link
      href={href}
      onClick={closePopover}
      aria-current={current ? "page" : undefined}
      className="flex h-9 items-center gap-2 rounded-md px-2 font-medium text-muted hover:bg-sunken hover:text-ink sm:h-8 aria-[current=page]:bg-accent/10 aria-[current=page]:text-accent"
    >
      {children}
    </Link>
  )
}

function closePopover(event: MouseEvent<HTMLElement>): void {
  event.currentTarget.closest<HTMLElement>(":popover-open")?.hidePopover()
}
