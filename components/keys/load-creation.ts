"use client"

import dynamic from "next/dynamic"
import { useRouter } from "next/navigation"
import { useCallback } from "react"
import { useDialog } from "@/components/overlay/use-dialog"
import type { KeyDialogProps } from "./key-dialog"

// Only a page that shows the form, and a button about to open it, load the code that creates and shows a key.

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
