import { redirect } from "next/navigation"
import { pageAfterSignIn } from "@/app/_shell/sections"
import type { User } from "@/generated/prisma/client"
import { localPath } from "@/lib/platform/http/local-path"
import type { Client } from "@/lib/sign-in/attempts"
import { reportNewBrowser } from "@/lib/sign-in/new-browser"
import type { SecondFactor, SignInMethod } from "@/lib/sign-in/session-rows"
import { auditSignIn } from "@/lib/sign-in/sign-in-audit"

export async function signedIn(
  user: User,
  { via, factor, callbackUrl }: { via: SignInMethod; factor?: SecondFactor; callbackUrl: string },
  client: Client,
): Promise<never> {
  await auditSignIn(user.id, via, client.address, factor)
  await reportNewBrowser(user, { via, factor }, client)
  // The page lists the other ways in, which an attacker may have added.
  if (via === "password reset") redirect("/account/security")
  const path = localPath(callbackUrl)
  if (factor === "recovery code" && (path === "/" || path === "/account")) redirect("/account?recovery=used")
  redirect(await pageAfterSignIn(path, user.role))
}
