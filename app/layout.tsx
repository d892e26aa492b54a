import type { Metadata, Viewport } from "next"
import { connection } from "next/server"
import type { ReactNode } from "react"
import { HtmlDocument } from "@/components/html-document"
import { product } from "@/lib/product"
import "./globals.css"

export const metadata: Metadata = {
  title: { default: product.name, template: `%s · ${product.name}` },
  description: product.description,
  robots: { index: false },
}

export const viewport: Viewport = {
  colorScheme: "light dark",
  themeColor: [
    { media: "(prefers-color-scheme: light)", color: "#f8f9fa" },
    { media: "(prefers-color-scheme: dark)", color: "#0e1013" },
  ],
}

export default async function RootLayout({ children }: { children: ReactNode }) {
  // Pages are not prerendered, because their scripts carry the nonce of the request.
  await connection()
  return <HtmlDocument>{children}</HtmlDocument>
}
