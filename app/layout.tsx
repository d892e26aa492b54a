import type { Metadata, Viewport } from "next"
import { connection } from "next/server"
import type { ReactNode } from "react"
import "./globals.css"

export const metadata: Metadata = {
  title: { default: "tsk", template: "%s · tsk" },
  description: "API keys and a metered API",
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
  return (
    <html lang="en">
      <body className="isolate min-h-dvh font-sans">{children}</body>
    </html>
  )
}
