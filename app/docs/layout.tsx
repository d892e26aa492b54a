import type { Metadata } from "next"

export const metadata: Metadata = { robots: { index: true } }

// The example requests contain BASE_URL, which is set when the server starts, not when it is built.
export const dynamic = "force-dynamic"

export default function DocsLayout({ children }: LayoutProps<"/docs">) {
  return children
}
