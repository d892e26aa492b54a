import type { Metadata } from "next"
import { AppShell } from "@/app/_shell/app-shell"
import { MessagePage } from "@/components/page/message-page"
import { buttonStyle } from "@/components/ui/button"
import { Link } from "@/components/ui/link"
import { currentViewer } from "@/lib/sign-in/browser-session"

export const metadata: Metadata = { title: "Not found" }

export default async function NotFound() {
  const isSignedIn = (await currentViewer()) !== null
  const message = (
    <MessagePage status="404" title="Page not found">
      <p className="text-muted">Check the URL. The page may have been moved or deleted.</p>
      <Link href={isSignedIn ? "/account" : "/"} className={buttonStyle()}>
        Go to the home page
      </Link>
    </MessagePage>
  )
  return isSignedIn ? <AppShell>{message}</AppShell> : <main>{message}</main>
}
