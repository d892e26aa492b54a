"use client"

import { MessagePage } from "@/components/page/message-page"
import { SupportLink } from "@/components/page/support-link"
import { Button } from "@/components/ui/button"

export default function ErrorPage({ error, reset }: { error: Error & { digest?: string }; reset: () => void }) {
  return (
    <main>
      <MessagePage status="500" title="Something went wrong">
        <p className="text-muted">
          This page could not be loaded. Try again in a moment.
          {error.digest && (
            <>
              {" "}
              If the problem continues, contact <SupportLink /> with the error ID {error.digest}.
            </>
          )}
        </p>
        <Button onClick={reset}>Try again</Button>
      </MessagePage>
    </main>
  )
}
