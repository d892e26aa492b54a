"use client"

import { type MouseEvent, type ReactNode, useEffect, useRef } from "react"

/** Beside the page on wide screens, where the entry of the section in view is marked. */
export function ContentsPopover({ children }: { children: ReactNode }) {
  const contents = useRef<HTMLElement>(null)

  useEffect(() => {
    const links = [...(contents.current?.querySelectorAll("a") ?? [])].filter(
      ({ hash, pathname }) => hash && pathname === location.pathname,
    )
    const observer = new IntersectionObserver(
      (changes) => {
        const [shown] = changes.filter(({ isIntersecting }) => isIntersecting)
        if (!shown) return
        for (const link of links) {
          if (link.hash === `#${shown.target.id}`) link.setAttribute("aria-current", "location")
          else link.removeAttribute("aria-current")
        }
      },
      // The section at a quarter of the window's height.
      { rootMargin: "-25% 0% -75%" },
    )
    for (const { hash } of links) {
      const section = document.getElementById(hash.slice(1))
      if (section) observer.observe(section)
    }
    return () => observer.disconnect()
  }, [])

  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a link that is followed by keyboard is clicked, too
    <nav
      ref={contents}
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
