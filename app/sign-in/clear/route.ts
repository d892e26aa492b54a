import { redirect } from "next/navigation"
import type { NextRequest } from "next/server"
import { localPath } from "@/lib/sign-in/local-path"
import { clearSessionCookies, currentViewer } from "@/lib/sign-in/session"

/** Clears the cookies of an expired session, which a page cannot do, and redirects back to sign-in. */
export async function GET({ nextUrl: { searchParams } }: NextRequest): Promise<never> {
  const callbackUrl = localPath(searchParams.get("callbackUrl") ?? undefined)
  if (await currentViewer()) redirect(callbackUrl)
  await clearSessionCookies()
  const error = searchParams.get("error")
  redirect(`/sign-in?${new URLSearchParams({ callbackUrl, cleared: "", ...(error && { error }) })}`)
}
