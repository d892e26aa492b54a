"use client"

import { Search } from "lucide-react"
import { useCallback, useEffect, useState } from "react"
import { useDialog } from "@/components/overlay/use-dialog"
import { useHydrated } from "@/components/ui/use-hydrated"
import type { Finding } from "./findings"
import type { PaletteDialogProps } from "./palette-dialog"
import { isPaletteKey } from "./palette-key"

const loadDialog = async () => (await import("./palette-dialog")).PaletteDialog

const fieldId = "palette-field"

/** @param label what it finds, as its field asks for it */
export function usePalette(pages: readonly Finding[], label: string) {
  const { Dialog, opened, open, close, preload } = useDialog<PaletteDialogProps, true>(loadDialog)
  const [text, setText] = useState("")

  const press = useCallback(
    (event: KeyboardEvent) => {
      if (!isPaletteKey(event)) return
      event.preventDefault()
      document.querySelector<HTMLElement>("#sidebar:popover-open")?.hidePopover()
      open(true)
    },
    [open],
  )

  useEffect(() => {
    window.addEventListener("keydown", press)
    return () => window.removeEventListener("keydown", press)
  }, [press])

  const end = useCallback(() => {
    setText("")
    close()
  }, [close])

  // Text typed before the field has the focus would be lost, or go to the page behind the dialog.
  useEffect(() => {
    if (!opened) return
    const type = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || document.activeElement?.id === fieldId) return
      if (event.key === "Escape") end()
      else if (event.key === "Backspace") setText((text) => text.slice(0, -1))
      else if (event.key.length === 1) setText((text) => text + event.key)
      else return
      event.preventDefault()
    }
    window.addEventListener("keydown", type)
    return () => window.removeEventListener("keydown", type)
  }, [opened, end])

  return {
    open,
    preload,
    dialog: Dialog && <Dialog {...{ pages, label, fieldId, text, setText }} isOpen={opened === true} onClose={end} />,
  }
}

export function Palette({ pages }: { pages: readonly Finding[] }) {
  const { open, preload, dialog } = usePalette(pages, "Find a page, an action, a key or a request ID")
  const hydrated = useHydrated()
  return (
    <>
      <button
        type="button"
        onClick={() => {
          document.querySelector<HTMLElement>("#sidebar:popover-open")?.hidePopover()
          open(true)
        }}
        onPointerEnter={preload}
        onFocus={preload}
        aria-keyshortcuts="Control+K Meta+K"
        className={`flex h-9 shrink-0 items-center gap-2 rounded-md border border-line bg-page px-2 text-muted hover:border-edge hover:text-ink sm:h-8 ${hydrated ? "" : "invisible"}`}
      >
        <Search aria-hidden="true" className="size-4" />
        <span className="grow text-left">Find</span>
        <kbd className="rounded border border-line px-1 font-sans text-xs pointer-coarse:hidden">Ctrl K</kbd>
      </button>
      {dialog}
    </>
  )
}
