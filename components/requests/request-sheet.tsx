"use client"

import { ChevronDown, ChevronUp, X } from "lucide-react"
import { usePathname, useRouter } from "next/navigation"
import { type KeyboardEvent, type ReactNode, useEffect, useLayoutEffect, useRef, useState } from "react"
import { Button } from "@/components/ui/button"

/** A request beside its list. The URL is that of its page, which a reload opens. */
export function RequestSheet({ list, title, children }: { list: string; title: ReactNode; children: ReactNode }) {
  const router = useRouter()
  const path = usePathname()
  const dialog = useRef<HTMLDialogElement>(null)
  const isMounted = useRef(false)
  const [neighbors, setNeighbors] = useState<Neighbors>({})

  useEffect(() => setNeighbors(neighborsOf(list, path)), [list, path])

  useLayoutEffect(() => {
    const shown = dialog.current
    isMounted.current = true
    shown?.showModal()
    return () => {
      isMounted.current = false
      shown?.close()
    }
  }, [])

  function close() {
    if (!isMounted.current) return
    linkTo(path)?.focus()
    router.back()
  }

  function open(neighbor: string | undefined) {
    if (neighbor) router.replace(neighbor, { scroll: false })
  }

  function move(event: KeyboardEvent) {
    if (event.target instanceof HTMLTextAreaElement || event.ctrlKey || event.metaKey || event.altKey) return
    const step = steps[event.key]
    if (!step) return
    event.preventDefault()
    open(neighbors[step])
  }

  return (
    <dialog
      ref={dialog}
      aria-labelledby="sheet-title"
      onClose={close}
      onKeyDown={move}
      onClick={({ target }) => target === dialog.current && dialog.current.close()}
      className="m-0 ml-auto h-dvh max-h-none w-160 max-w-full border-l border-line bg-page text-ink shadow-2xl backdrop:bg-veil"
    >
      <div className="grid grid-cols-[minmax(0,1fr)] content-start gap-4 p-4 sm:p-5">
        <div className="flex items-start justify-between gap-3">
          {/* biome-ignore lint/a11y/noAutofocus: the dialog begins with its title */}
          <h2 id="sheet-title" tabIndex={-1} autoFocus className="text-base font-semibold outline-none wrap-anywhere">
            {title}
          </h2>
          <div className="flex shrink-0 gap-1">
            <Step label="Request above" Icon={ChevronUp} to={neighbors.before} open={open} />
            <Step label="Request below" Icon={ChevronDown} to={neighbors.after} open={open} />
            <Button kind="quiet" aria-label="Close" className="px-2" onClick={() => dialog.current?.close()}>
              <X aria-hidden="true" className="size-4" />
            </Button>
          </div>
        </div>
        {children}
      </div>
    </dialog>
  )
}

function Step({
  label,
  Icon,
  to,
  open,
}: {
  label: string
  Icon: typeof X
  to: string | undefined
  open: (path: string | undefined) => void
}) {
  return (
    <Button kind="quiet" aria-label={label} className="px-2" aria-disabled={!to} onClick={() => open(to)}>
      <Icon aria-hidden="true" className="size-4" />
    </Button>
  )
}

type Neighbors = { before?: string | undefined; after?: string | undefined }

const steps: Readonly<Record<string, keyof Neighbors>> = {
  ArrowUp: "before",
  k: "before",
  ArrowDown: "after",
  j: "after",
}

function neighborsOf(list: string, path: string): Neighbors {
  const paths = linksOf(list).map(({ pathname }) => pathname)
  const place = paths.indexOf(path)
  return place < 0 ? {} : { before: paths[place - 1], after: paths[place + 1] }
}

function linksOf(list: string): HTMLAnchorElement[] {
  return [...document.querySelectorAll<HTMLAnchorElement>(`tbody a[href^="${list}/"]`)]
}

function linkTo(path: string): HTMLAnchorElement | undefined {
  return linksOf(path.slice(0, path.lastIndexOf("/"))).find(({ pathname }) => pathname === path)
}
