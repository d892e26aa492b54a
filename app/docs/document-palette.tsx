"use client"

import { useEffect, useState } from "react"
import type { Finding } from "@/app/_shell/findings"
import { usePalette } from "@/app/_shell/palette"

/** Opens when it is loaded. The pages of the viewer are requested, because the document is the same for everyone. */
export function DocumentPalette() {
  const [pages, setPages] = useState<readonly Finding[]>([])
  const { open, dialog } = usePalette(pages, "Find a guide, an endpoint or a field")

  useEffect(() => {
    open(true)
    // Without a connection, nothing is found.
    fetch("/find")
      .then((response) => (response.ok ? response.json() : []))
      .then(setPages, () => {})
  }, [open])

  return dialog
}
