"use client"

import { usePathname } from "next/navigation"
import { type ReactNode, useEffect, useRef } from "react"
import { Link } from "@/components/ui/link"
import { navigationStyle } from "./navigation-style"

export function NavigationLink({ href, children }: { href: string; children: ReactNode }) {
  const current = usePathname() === href
  const entry = useRef<HTMLAnchorElement>(null)

  useEffect(() => {
    // Elsewhere it would scroll the page away from the place in its address.
    if (current && entry.current?.closest("#sidebar")) entry.current.scrollIntoView({ block: "nearest" })
  }, [current])

  return (
    <Link
      ref={entry}
      href={href}
      onClick={closePopovers}
      aria-current={current ? "page" : undefined}
      className={navigationStyle}
    >
      {children}
    </Link>
  )
}

function closePopovers(): void {
  for (const open of document.querySelectorAll<HTMLElement>(":popover-open")) open.hidePopover()
}
