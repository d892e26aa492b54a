"use client"

import { Autocomplete } from "@base-ui/react/autocomplete"
import { Dialog } from "@base-ui/react/dialog"
import { useRouter } from "next/navigation"
import { useEffect, useState, useTransition } from "react"
import { backdropStyle } from "@/components/overlay/dialog-style"
import { PendingBar } from "@/components/ui/pending-bar"
import { Untrusted } from "@/components/values/untrusted"
import { keepRecent, recentHrefs } from "./browser-storage"
import { type Finding, type Group, groupsOf, withoutKey } from "./findings"

export type PaletteDialogProps = {
  pages: readonly Finding[]
  label: string
  fieldId: string
  text: string
  setText: (text: string) => void
  isOpen: boolean
  onClose: () => void
}

const pauseMs = 150

export function PaletteDialog({ pages, label, fieldId, text, setText, isOpen, onClose }: PaletteDialogProps) {
  const router = useRouter()
  const [here, setHere] = useState<readonly Finding[]>([])
  const [found, setFound] = useState<readonly Finding[]>([])
  const [pending, startTransition] = useTransition()
  const searched = withoutKey(text.trim())

  useEffect(() => {
    if (!isOpen) return
    const aborting = new AbortController()
    const commands = commandsOfPage()
    setHere(commands)
    recentFindings(pages, aborting.signal).then((recent) => {
      if (!aborting.signal.aborted) setHere([...commands, ...recent])
    })
    return () => aborting.abort()
  }, [isOpen, pages])

  useEffect(() => {
    const aborting = new AbortController()
    const waiting = setTimeout(async () => {
      setFound(searched.length < 3 ? [] : await search(searched, aborting.signal))
    }, pauseMs)
    return () => {
      clearTimeout(waiting)
      aborting.abort()
    }
  }, [searched])

  function open({ group, href }: Finding): void {
    onClose()
    if (group !== "On this page") keepRecent(href)
    // The router opens pages only.
    if (href.startsWith("mailto:")) window.location.assign(href)
    else if (href.startsWith("#")) document.querySelector<HTMLElement>(href)?.click()
    else startTransition(() => router.push(href))
  }

  const shown = searched === "" ? here : here.filter(({ group }) => group !== "Recent")
  const items = groupsOf([...shown, ...pages], found, searched)
  return (
    <>
      {pending && <PendingBar />}
      <Dialog.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
        <Dialog.Portal>
          <Dialog.Backdrop className={backdropStyle} />
          <Dialog.Popup
            aria-label="Find"
            className="fixed inset-x-0 top-[12dvh] z-40 mx-auto flex max-h-[min(32rem,76dvh)] w-[calc(100vw-2rem)] max-w-lg flex-col overflow-hidden rounded-xl border border-line bg-panel text-ink shadow-2xl"
          >
            <Autocomplete.Root
              open
              inline
              mode="none"
              items={items}
              value={text}
              onValueChange={setText}
              itemToStringValue={({ label }: Finding) => label}
              autoHighlight="always"
              keepHighlight
            >
              <Autocomplete.Input
                id={fieldId}
                onFocus={({ currentTarget }) => currentTarget.setSelectionRange(text.length, text.length)}
                aria-label={label}
                placeholder={`${label}…`}
                className="h-12 w-full shrink-0 border-b border-line bg-transparent px-4 text-base outline-none placeholder:text-muted"
              />
              <Autocomplete.Empty className="px-4 text-muted not-empty:py-6">
                {searched && "Nothing found."}
              </Autocomplete.Empty>
              <Autocomplete.List className="overflow-y-auto p-2 empty:hidden">
                {({ value, items }: Group) => (
                  <Autocomplete.Group key={value} items={items} className="not-last:mb-2">
                    <Autocomplete.GroupLabel className="px-2 py-1 text-xs text-muted">{value}</Autocomplete.GroupLabel>
                    <Autocomplete.Collection>
                      {(finding: Finding) => (
                        <Autocomplete.Item
                          key={finding.href}
                          value={finding}
                          onClick={() => open(finding)}
                          className="flex h-9 cursor-pointer items-center gap-3 rounded-md px-2 data-highlighted:bg-accent/10 data-highlighted:text-accent"
                        >
                          <span className="truncate">
                            <Untrusted>{finding.label}</Untrusted>
                          </span>
                          {finding.note && (
                            <span className="ml-auto max-w-2/3 truncate text-xs text-muted">
                              <Untrusted>{finding.note}</Untrusted>
                            </span>
                          )}
                        </Autocomplete.Item>
                      )}
                    </Autocomplete.Collection>
                  </Autocomplete.Group>
                )}
              </Autocomplete.List>
            </Autocomplete.Root>
          </Dialog.Popup>
        </Dialog.Portal>
      </Dialog.Root>
    </>
  )
}

/** The page names them in `<Commands>`. */
function commandsOfPage(): Finding[] {
  const links = document.querySelectorAll<HTMLAnchorElement>("[data-commands] a")
  return [...links].map((link) => ({
    group: "On this page",
    label: link.textContent,
    href: link.pathname + link.search,
  }))
}

/** The last part of an address finds its row, if the viewer may still open it. */
async function recentFindings(pages: readonly Finding[], signal: AbortSignal): Promise<Finding[]> {
  const others = recentHrefs().filter((href) => href !== window.location.pathname)
  const recent = others.map(async (href) => {
    const isIt = (finding: Finding) => finding.href === href
    return pages.find(isIt) ?? (await search(/[^/#]*$/.exec(href)?.[0] ?? "", signal)).find(isIt)
  })
  return (await Promise.all(recent)).flatMap((finding) => (finding ? [{ ...finding, group: "Recent" }] : []))
}

/** Empty if the connection is lost: pages can still be found. */
async function search(text: string, signal: AbortSignal): Promise<Finding[]> {
  try {
    const response = await fetch(`/find?${new URLSearchParams({ q: text })}`, { signal })
    return response.ok ? await response.json() : []
  } catch {
    return []
  }
}
