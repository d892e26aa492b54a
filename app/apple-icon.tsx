import { ImageResponse } from "next/og"
import { keyholes } from "@/components/page/wordmark"
import { hexOf } from "@/lib/platform/text/color"
import { product } from "@/lib/product"

export const size = { width: 180, height: 180 }
export const contentType = "image/png"

/** Square, because the home screen of a phone rounds its corners. */
export default function icon(): ImageResponse {
  return new ImageResponse(
    <div style={{ display: "flex", width: "100%", height: "100%", background: hexOf(0.475, 0.165, product.accentHue) }}>
      <svg viewBox="0 0 20 20" width={180} height={180} role="presentation">
        <path d={keyholes} fill="#fff" />
      </svg>
    </div>,
    size,
  )
}
