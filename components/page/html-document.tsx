import type { CSSProperties, ReactNode } from "react"
import type { Theme } from "@/lib/platform/http/theme"
import { product } from "@/lib/product"
import { fonts } from "./fonts"

const hues = { "--accent-hue": product.accentHue, "--admin-hue": product.adminHue } as CSSProperties

export function HtmlDocument({ theme, children }: { theme?: Theme; children: ReactNode }) {
  return (
    <html lang="en" data-theme={theme} className={fonts} style={hues}>
      <body className="isolate min-h-dvh font-sans">{children}</body>
    </html>
  )
}
