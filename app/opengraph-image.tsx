import { ImageResponse } from "next/og"
import { keyholes } from "@/components/page/wordmark"
import { hexOf } from "@/lib/platform/text/color"
import { product } from "@/lib/product"

export const alt = `${product.name}: ${product.description}`
export const size = { width: 1200, height: 630 }
export const contentType = "image/png"

/** The renderer has no oklch, so these are the colors of dark mode. */
export default function image(): ImageResponse {
  return new ImageResponse(
    <div
      style={{
        display: "flex",
        flexDirection: "column",
        justifyContent: "center",
        width: "100%",
        height: "100%",
        padding: 96,
        gap: 40,
        background: "#0e1013",
        color: "#e9ebee",
      }}
    >
      <svg viewBox="0 0 20 20" width={120} height={120} role="presentation">
        <rect width="20" height="20" rx="5" fill={hexOf(0.765, 0.115, product.accentHue)} />
        <path d={keyholes} fill="#0e1013" />
      </svg>
      <div style={{ fontSize: 104, fontWeight: 700 }}>{product.name}</div>
      <div style={{ fontSize: 48, color: "#a4abb6" }}>{product.description}</div>
    </div>,
    size,
  )
}
