import type { Metadata, Viewport } from "next"
import { headers } from "next/headers"
import { connection } from "next/server"
import type { ReactNode } from "react"
import { fonts } from "@/components/page/fonts"
import { HtmlDocument } from "@/components/page/html-document"
import { env } from "@/lib/env"
import { markRead } from "@/lib/platform/http/responses"
import { chosenTheme } from "@/lib/platform/http/theme"
import { product } from "@/lib/product"
import "./globals.css"

export function generateMetadata(): Metadata {
  return {
    metadataBase: new URL(env().BASE_URL),
    title: { default: product.name, template: `%s · ${product.name}` },
    description: product.description,
    robots: { index: false },
  }
}

const colors = { light: "#fbfcfe", dark: "#0e1013" } as const

export async function generateViewport(): Promise<Viewport> {
  const theme = await chosenTheme()
  if (theme !== "system") return { colorScheme: theme, themeColor: colors[theme] }
  return {
    colorScheme: "light dark",
    themeColor: Object.entries(colors).map(([scheme, color]) => ({
      media: `(prefers-color-scheme: ${scheme})`,
      color,
    })),
  }
}

export default async function RootLayout({ children }: { children: ReactNode }) {
  // Pages are not prerendered, because their scripts carry the nonce of the request.
  await connection()
  markRead(await headers())
  return (
    <HtmlDocument theme={await chosenTheme()} fonts={fonts}>
      {children}
    </HtmlDocument>
  )
}
