"use client"

import { Plus } from "lucide-react"
import { type MouseEvent, useRef } from "react"
import { Button } from "@/components/button"
import type { Shown } from "./key-reveal"
import { newKey } from "./new-key"
import { useKeyDialog } from "./use-key-dialog"

/** Without JavaScript, the button opens `?new`, which shows the form in the page. */
export function CreateKey({ shown, ...form }: Omit<Parameters<typeof newKey>[0], "now"> & { shown: Shown }) {
  const { Dialog, opened, open, close, preload } = useKeyDialog<{ now: string }>()
  const button = useRef<HTMLButtonElement>(null)

  function press(event: MouseEvent) {
    event.preventDefault()
    open({ now: new Date().toISOString() })
  }

  return (
    <>
      <form method="get">
        <Button
          ref={button}
          kind="primary"
          type="submit"
          name="new"
          onClick={press}
          onPointerEnter={preload}
          onFocus={preload}
        >
          <Plus aria-hidden="true" className="size-4" />
          Create key
        </Button>
      </form>
      {Dialog && (
        <Dialog
          creation={opened && newKey({ ...form, ...opened })}
          shown={shown}
          onClose={close}
          focusAfter={() => button.current}
        />
      )}
    </>
  )
}
