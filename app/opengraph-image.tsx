import { ImageResponse } from "next/og"
import { locks } from "@/components/values/lock"
import { hexOf } from "@/lib/platform/text/color"
import { product } from "@/lib/product"
import { kinds } from "@/lib/surfaces"

export const alt = `${product.name}: ${product.description}`
export const size = { width: 1200, height: 630 }
export const contentType = "image/png"

const colors = { user: hexOf(0.765, 0.13, product.accentHue), admin: hexOf(0.765, 0.13, product.adminHue) }

/** The renderer has no oklch, so these are the colors of dark mode. Its own font is Geist. */
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
        <path d={locks.user.plate} fill={colors.user} />
        <path d={locks.admin.plate} fill={colors.admin} />
        <path d={locks.user.keyhole + locks.admin.keyhole} fill="#0e1013" />
      </svg>
      <div style={{ fontSize: 104, fontWeight: 700 }}>{product.name}</div>
      <div style={{ fontSize: 48, color: "#a4abb6" }}>{product.description}</div>
      <div style={{ display: "flex", gap: 48, fontSize: 36 }}>
        <div style={{ color: colors.user }}>{`${kinds.user.prefix}…`}</div>
        <div style={{ color: colors.admin }}>{`${kinds.admin.prefix}…`}</div>
      </div>
    </div>,
    size,
  )
}
