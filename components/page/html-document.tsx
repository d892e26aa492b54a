import type { ReactNode } from "react"
import type { Theme } from "@/lib/platform/http/theme"
import { product } from "@/lib/product"

export function HtmlDocument({ theme, children }: { theme?: Theme; children: ReactNode }) {
  return (
    <html lang="en" data-theme={theme} style={{ ["--accent-hue" as string]: product.accentHue }}>
      <body className="isolate min-h-dvh font-sans">{children}</body>
    </html>
  )
}
