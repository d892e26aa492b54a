"use client"

import { Autocomplete } from "@base-ui/react/autocomplete"
import { Dialog } from "@base-ui/react/dialog"
import { useRouter } from "next/navigation"
import { useEffect, useState, useTransition } from "react"
import { backdropStyle } from "@/components/overlay/dialog-style"
import { PendingBar } from "@/components/ui/pending-bar"
import { Untrusted } from "@/components/values/untrusted"
import { plainPunctuation } from "@/lib/platform/text/typed-punctuation"
import { anyPrefix } from "@/lib/surfaces"

export type Finding = {
  group: "Pages" | "Actions" | "Requests" | "Accounts" | "Keys"
  label: string
  note?: string
  keywords?: string
  href: string
}

export type PaletteDialogProps = {
  pages: readonly Finding[]
  fieldId: string
  text: string
  setText: (text: string) => void
  isOpen: boolean
  onClose: () => void
}

type Group = { value: Finding["group"]; items: readonly Finding[] }

const groups = ["Pages", "Actions", "Requests", "Accounts", "Keys"] as const

const pauseMs = 150

export function PaletteDialog({ pages, fieldId, text, setText, isOpen, onClose }: PaletteDialogProps) {
  const router = useRouter()
  const [found, setFound] = useState<readonly Finding[]>([])
  const [pending, startTransition] = useTransition()
  const searched = withoutKey(text.trim())

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

  function open({ href }: Finding): void {
    onClose()
    // The router opens pages only.
    if (href.startsWith("mailto:")) window.location.assign(href)
    else startTransition(() => router.push(href))
  }

  const typed = plainPunctuation(searched).toLowerCase()
  const matches = [...pages.filter((page) => isNamed(page, typed)), ...found]
  const items = groups
    .map((group) => ({ value: group, items: matches.filter((finding) => finding.group === group) }))
    .filter(({ items }) => items.length > 0)
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
                aria-label="Find pages, actions, accounts and keys"
                placeholder="Find a page, an account or a key…"
                className="h-12 w-full shrink-0 border-b border-line bg-transparent px-4 text-base outline-none placeholder:text-muted"
              />
              <Autocomplete.Empty className="px-4 text-muted not-empty:py-6">Nothing found.</Autocomplete.Empty>
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

function isNamed({ label, keywords = "" }: Finding, typed: string): boolean {
  return label.toLowerCase().includes(typed) || ` ${keywords}`.includes(` ${typed}`)
}

const wholeKey = new RegExp(`(${anyPrefix}\\w{4})\\w*`)

/** No key leaves the field: its first characters replace it, and are enough to find it. */
function withoutKey(text: string): string {
  return text.replace(wholeKey, "$1")
}

/** Empty if the session has ended or the connection is lost: pages can still be found. */
async function search(text: string, signal: AbortSignal): Promise<Finding[]> {
  try {
    const response = await fetch(`/find?${new URLSearchParams({ q: text })}`, { signal, redirect: "error" })
    return response.ok ? await response.json() : []
  } catch {
    return []
  }
}
