import type { CSSProperties, ReactNode } from "react"
import type { Theme } from "@/lib/platform/http/theme"
import { product } from "@/lib/product"

const hues = { "--accent-hue": product.accentHue, "--admin-hue": product.adminHue } as CSSProperties

/** @param fonts the class names that define their variables */
export function HtmlDocument({ theme, fonts, children }: { theme?: Theme; fonts?: string; children: ReactNode }) {
  return (
    <html lang="en" data-theme={theme} className={fonts} style={hues}>
      <body className="isolate min-h-dvh font-sans">{children}</body>
    </html>
  )
}
