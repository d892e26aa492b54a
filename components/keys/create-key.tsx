"use client"

import { Plus } from "lucide-react"
import { useRouter } from "next/navigation"
import { type ComponentType, type MouseEvent, useCallback, useRef, useState } from "react"
import { Button } from "../button"
import type { CreateKeyDialogProps } from "./create-key-dialog"
import type { Creation } from "./key-creation"

const loadDialog = () => import("./create-key-dialog")

/** Without JavaScript, the button opens `?new`, which shows the form in the page. */
export function CreateKey(creation: Creation) {
  const [Dialog, setDialog] = useState<ComponentType<CreateKeyDialogProps>>()
  const [open, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const router = useRouter()
  const close = useCallback(() => {
    setOpen(false)
    // The new key may have been used while the dialog was open.
    router.refresh()
  }, [router])
  const preload = () => void loadDialog()

  async function openDialog(event: MouseEvent) {
    event.preventDefault()
    setOpen(true)
    const { CreateKeyDialog } = await loadDialog()
    setDialog(() => CreateKeyDialog)
  }

  return (
    <>
      <form method="get">
        <Button
          ref={button}
          kind="primary"
          type="submit"
          name="new"
          onClick={openDialog}
          onPointerEnter={preload}
          onFocus={preload}
        >
          <Plus aria-hidden="true" className="size-4" />
          Create key
        </Button>
      </form>
      {Dialog && <Dialog {...creation} open={open} onClose={close} opener={button} />}
    </>
  )
}
