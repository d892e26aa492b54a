"use client"

import { Button } from "@/components/button"
import { MessagePage } from "@/components/message-page"

export default function ErrorPage({ error, reset }: { error: Error & { digest?: string }; reset: () => void }) {
  return (
    <main>
      <MessagePage status="500" title="Something went wrong">
        <p className="text-muted">
          This page could not be shown. Try again in a moment
          {error.digest ? `; if it stays, report it with the number ${error.digest}.` : "."}
        </p>
        <Button onClick={reset}>Try again</Button>
      </MessagePage>
    </main>
  )
}
