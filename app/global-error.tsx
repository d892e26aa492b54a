"use client"

import { HtmlDocument } from "@/components/page/html-document"
import { product } from "@/lib/product"
import ErrorPage from "./error"
import "./globals.css"

export default function GlobalError(props: { error: Error & { digest?: string }; reset: () => void }) {
  return (
    <HtmlDocument>
      <title>{`Something went wrong · ${product.name}`}</title>
      <ErrorPage {...props} />
    </HtmlDocument>
  )
}
