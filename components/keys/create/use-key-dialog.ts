import { useRouter } from "next/navigation"
import { useCallback } from "react"
import { useDialog } from "@/components/use-dialog"
import type { KeyDialogProps } from "./key-dialog"

const loadDialog = async () => (await import("./key-dialog")).KeyDialog

/** The dialog in which a key is created. */
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
