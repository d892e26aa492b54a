import type { Metadata } from "next"
import { redirect } from "next/navigation"
import { Link } from "@/components/link"
import { Notice } from "@/components/notice"
import { SignInLayout } from "@/components/sign-in-layout"
import { localPath } from "@/lib/sign-in/local-path"
import { currentViewer, sessionCookieNames } from "@/lib/sign-in/session"
import { ProviderButtons } from "./provider-buttons"
import { SignInForm } from "./sign-in-form"

export const metadata: Metadata = { title: "Sign in" }

/** What next-auth reports in the address after a failed sign-in. Its codes are only looked up here, never shown. */
const failures: Record<string, string> = {
  OAuthAccountNotLinked: "There is an account with this e-mail address already. Sign in to it with its password.",
  AccessDenied: "This account is suspended. Ask the operator of this service why.",
  SessionRequired: "Sign in to open this page.",
}

export default async function SignInPage({ searchParams }: PageProps<"/sign-in">) {
  const { error, callbackUrl, cleared } = await searchParams
  const path = localPath(typeof callbackUrl === "string" ? callbackUrl : undefined)
  if (await currentViewer()) redirect(path)
  // Once: a cookie of another domain or path cannot be cleared from here.
  if (cleared === undefined && (await sessionCookieNames()).length > 0) {
    redirect(
      `/sign-in/clear?${new URLSearchParams({ callbackUrl: path, ...(typeof error === "string" && { error }) })}`,
    )
  }
  return (
    <SignInLayout title="Sign in">
      {error !== undefined && (
        <Notice tone="bad" role="alert">
          {failures[String(error)] ?? "The sign-in did not work. Try again, or use another way to sign in."}
        </Notice>
      )}
      <SignInForm callbackUrl={path} />
      <p>
        <Link href="/reset-password" className="text-accent underline">
          Forgot password?
        </Link>
      </p>
      <ProviderButtons callbackUrl={path} />
      <p className="text-muted">
        No account yet?{" "}
        <Link href={`/sign-up?callbackUrl=${encodeURIComponent(path)}`} className="text-accent underline">
          Create account
        </Link>
      </p>
    </SignInLayout>
  )
}
