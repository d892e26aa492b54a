import { ImageResponse } from "next/og"
import { locks } from "@/components/values/lock"
import { hexOf } from "@/lib/platform/text/color"
import { product } from "@/lib/product"

export const size = { width: 180, height: 180 }
export const contentType = "image/png"

/** Square, because the home screen of a phone rounds its corners. */
export default function icon(): ImageResponse {
  return new ImageResponse(
    <div style={{ display: "flex", width: "100%", height: "100%" }}>
      <svg viewBox="0 0 20 20" width={180} height={180} role="presentation">
        <path d="M0 0h10v20H0Z" fill={hexOf(0.455, 0.2, product.accentHue)} />
        <path d="M10 0h10v20H10Z" fill={hexOf(0.455, 0.2, product.adminHue)} />
        <path d={locks.user.keyhole + locks.admin.keyhole} fill="#fff" />
      </svg>
    </div>,
    size,
  )
}
