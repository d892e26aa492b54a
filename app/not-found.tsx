import type { Metadata } from "next"
import { AppShell } from "@/app/_shell/app-shell"
import { SiteHeader } from "@/app/_shell/site"
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
      <div className="flex flex-wrap gap-2">
        <Link href={isSignedIn ? "/account" : "/"} className={buttonStyle()}>
          {isSignedIn ? "Go to the home page" : "Start page"}
        </Link>
        <Link href="/docs" className={buttonStyle()}>
          API reference
        </Link>
      </div>
    </MessagePage>
  )
  if (isSignedIn) return <AppShell>{message}</AppShell>
  return (
    <>
      <SiteHeader>
        <Link href="/sign-in" className={buttonStyle()}>
          Sign in
        </Link>
      </SiteHeader>
      <main>{message}</main>
    </>
  )
}
