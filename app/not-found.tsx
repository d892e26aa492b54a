import type { Metadata } from "next"
import { buttonStyle } from "@/components/button"
import { Link } from "@/components/link"
import { MessagePage } from "@/components/message-page"

export const metadata: Metadata = { title: "Not found" }

export default function NotFound() {
  return (
    <main>
      <MessagePage status="404" title="Page not found">
        <p className="text-muted">Check the URL. The page may have been moved or deleted.</p>
        <Link href="/" className={buttonStyle()}>
          Go to the home page
        </Link>
      </MessagePage>
    </main>
  )
}
