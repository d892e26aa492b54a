"use client"

import { usePathname, useSearchParams } from "next/navigation"
import { useEffect } from "react"
import { belongsTo, claim } from "./browser-storage"

/** Another tab may sign in to another account: its pages would open beside the sidebar of this one. */
export function SameViewer({ viewerId }: { viewerId: string }) {
  const page = `${usePathname()}?${useSearchParams()}`

  useEffect(() => claim(viewerId), [viewerId])

  // biome-ignore lint/correctness/useExhaustiveDependencies: checks each page that opens
  useEffect(() => {
    if (!belongsTo(viewerId)) window.location.reload()
  }, [page, viewerId])

  return null
}
