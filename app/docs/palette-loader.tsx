"use client"

import { type ComponentType, useEffect, useState } from "react"
import { isPaletteKey } from "@/app/_shell/palette-key"

/** Most readers do not open the palette, so the first Ctrl K loads it. */
export function PaletteLoader() {
  const [Palette, setPalette] = useState<ComponentType>()

  useEffect(() => {
    if (Palette) return
    async function press(event: KeyboardEvent): Promise<void> {
      if (!isPaletteKey(event)) return
      event.preventDefault()
      const { DocumentPalette } = await import("./document-palette")
      setPalette(() => DocumentPalette)
    }
    window.addEventListener("keydown", press)
    return () => window.removeEventListener("keydown", press)
  }, [Palette])

  return Palette && <Palette />
}
