"use client"

import { Dialog } from "@base-ui/react/dialog"
import { useRef } from "react"
import { backdropStyle, popupStyle } from "@/components/overlay/dialog-style"
import { Button } from "@/components/ui/button"
import { type Creation, KeyCreation, type ShownWithKey } from "./key-creation"

export type KeyDialogProps = {
  creation: Creation | undefined
  shown: ShownWithKey
  onClose: () => void
  focusAfter: () => HTMLElement | null
}

/** Esc, Cancel and the backdrop never close a key that is being created or shown, because it would be lost. */
export function KeyDialog({ creation, shown, onClose, focusAfter }: KeyDialogProps) {
  const popup = useRef<HTMLDivElement>(null)

  function close(): void {
    if (!popup.current?.querySelector("[type=submit][aria-disabled=true], #new-key")) onClose()
  }

  return (
    <Dialog.Root open={creation !== undefined} onOpenChange={(next) => !next && close()} disablePointerDismissal>
      <Dialog.Portal>
        <Dialog.Backdrop className={backdropStyle} />
        <Dialog.Popup
          ref={popup}
          aria-labelledby="creation-title"
          finalFocus={focusAfter}
          className={`${popupStyle} max-w-lg has-[#new-key]:max-w-2xl`}
        >
          {creation && (
            <KeyCreation
              creation={creation}
              shown={shown}
              cancel={<Button onClick={close}>Cancel</Button>}
              onClose={onClose}
            />
          )}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
