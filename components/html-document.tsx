import type { ReactNode } from "react"
import { product } from "@/lib/product"

/** The `html` and `body` of every page. */
export function HtmlDocument({ children }: { children: ReactNode }) {
  return (
    <html lang="en" style={{ ["--accent-hue" as string]: product.accentHue }}>
      <body className="isolate min-h-dvh font-sans">{children}</body>
    </html>
  )
}
