import { redirect } from "next/navigation"
import { pageAfterSignIn } from "@/app/_shell/sections"
import { currentViewer, type PendingOfBrowser, pageOfStep, pendingSignIn } from "@/lib/sign-in/browser-session"
import type { Step } from "@/lib/sign-in/session-rows"

export async function requireStep(step: Step, path: string): Promise<PendingOfBrowser> {
  const pending = await pendingSignIn()
  if (pending?.step === step) return pending
  if (pending) redirect(pageOfStep(pending.step, path))
  const viewer = await currentViewer()
  redirect(
    viewer ? await pageAfterSignIn(path, viewer.grantedRole) : `/sign-in?${new URLSearchParams({ callbackUrl: path })}`,
  )
}
