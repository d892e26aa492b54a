import type { Metadata } from "next"
import { buttonStyle } from "@/components/button"
import { Link } from "@/components/link"
import { MessagePage } from "@/components/message-page"

export const metadata: Metadata = { title: "Not found" }

export default function NotFound() {
  return (
    <main>
      <MessagePage status="404" title="There is no such page">
        <p className="text-muted">The address may be mistyped, or what it led to is gone.</p>
        <Link href="/" className={buttonStyle()}>
          To the start page
        </Link>
      </MessagePage>
    </main>
  )
}
