"use client"

import { X } from "lucide-react"
import { usePathname, useSearchParams } from "next/navigation"
import { createContext, type ReactNode, type RefObject, useContext, useMemo, useRef, useState } from "react"
import { Button } from "@/components/ui/button"

type Toasts = {
  show: (message: ReactNode) => void
  /** Takes the focus when the focused element is gone. */
  region: RefObject<HTMLDivElement | null>
}

const ToastContext = createContext<Toasts | null>(null)

export function useToasts(): Toasts {
  const toasts = useContext(ToastContext)
  if (!toasts) throw new Error("Toasts are shown within a ToastRegion.")
  return toasts
}

/** A message outlasts the changed row. It stays until it is dismissed or another page opens, so that it is seen. */
export function ToastRegion({ children }: { children: ReactNode }) {
  const page = `${usePathname()}?${useSearchParams()}`
  const [shown, setShown] = useState<{ message: ReactNode; page: string }>()
  const region = useRef<HTMLDivElement>(null)
  const toasts = useMemo(() => ({ show: (message: ReactNode) => setShown({ message, page }), region }), [page])
  const message = shown?.page === page && shown.message
  return (
    <ToastContext value={toasts}>
      {children}
      <div
        ref={region}
        role="status"
        tabIndex={-1}
        className="pointer-events-none fixed inset-x-4 bottom-4 z-50 flex justify-center outline-none"
      >
        {message && (
          <div className="pointer-events-auto flex max-w-lg items-center gap-3 rounded-lg border border-good/40 bg-panel py-2 pr-2 pl-4 shadow-2xl motion-safe:animate-[toast_150ms_ease-out]">
            <span aria-hidden="true" className="size-2 shrink-0 rounded-full bg-good" />
            <div className="min-w-0">{message}</div>
            <Button kind="quiet" aria-label="Dismiss" onClick={() => toasts.show(null)} className="px-2">
              <X aria-hidden="true" className="size-4" />
            </Button>
          </div>
        )}
      </div>
    </ToastContext>
  )
}
