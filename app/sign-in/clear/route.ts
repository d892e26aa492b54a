import { redirect } from "next/navigation"
import type { NextRequest } from "next/server"
import { localPath } from "@/lib/sign-in/local-path"
import { clearSessionCookies, currentViewer } from "@/lib/sign-in/session"

/** Clears the cookies of a session that has ended, which the sign-in page cannot do, and leads back to it. */
export async function GET({ nextUrl: { searchParams } }: NextRequest): Promise<never> {
  const callbackUrl = localPath(searchParams.get("callbackUrl") ?? undefined)
  if (await currentViewer()) redirect(callbackUrl)
  await clearSessionCookies()
  const error = searchParams.get("error")
  redirect(`/sign-in?${new URLSearchParams({ callbackUrl, cleared: "", ...(error && { error }) })}`)
}
