"use client"

import ErrorPage from "./error"
import "./globals.css"

export default function GlobalError(props: { error: Error & { digest?: string }; reset: () => void }) {
  return (
    <html lang="en">
      <body className="isolate min-h-dvh font-sans">
        <title>Something went wrong · tsk</title>
        <ErrorPage {...props} />
      </body>
    </html>
  )
}
