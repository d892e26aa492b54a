import { redirect } from "next/navigation"
import type { NextRequest } from "next/server"
import { pageAfterSignIn } from "@/app/_shell/sections"
import { localPath } from "@/lib/platform/http/local-path"
import { clearSessionCookies, currentViewer } from "@/lib/sign-in/browser-session"

/** A route, because a page cannot clear cookies. */
export async function GET({ nextUrl: { searchParams } }: NextRequest): Promise<never> {
  const callbackUrl = localPath(searchParams.get("callbackUrl") ?? undefined)
  const viewer = await currentViewer()
  if (viewer) redirect(await pageAfterSignIn(callbackUrl, viewer.grantedRole))
  await clearSessionCookies()
  const error = searchParams.get("error")
  redirect(`/sign-in?${new URLSearchParams({ callbackUrl, cleared: "", ...(error && { error }) })}`)
}
