"use client"

import dynamic from "next/dynamic"
import { useRouter } from "next/navigation"
import { useCallback } from "react"
import { useDialog } from "@/components/overlay/use-dialog"
import type { KeyDialogProps } from "./key-dialog"

// The code that creates and shows a key is loaded only by pages that show its form, and for a button that is about to
// open it as a dialog.

export const KeyCreationInPage = dynamic(async () => (await import("./key-creation")).KeyCreation)

const loadDialog = async () => (await import("./key-dialog")).KeyDialog

export function useKeyDialog<Opened>() {
  const { close, ...dialog } = useDialog<KeyDialogProps, Opened>(loadDialog)
  const router = useRouter()
  return {
    ...dialog,
    close: useCallback(() => {
      close()
      // The new key may have been used while the dialog was open, and the next form needs its own id.
      router.refresh()
    }, [close, router]),
  }
}
