import type { Metadata } from "next"
import { redirect } from "next/navigation"
import { Link } from "@/components/link"
import { Notice } from "@/components/notice"
import { SignInLayout } from "@/components/sign-in-layout"
import { product } from "@/lib/product"
import { localPath } from "@/lib/sign-in/local-path"
import { currentViewer, sessionCookieNames } from "@/lib/sign-in/session"
import { ProviderButtons } from "./provider-buttons"
import { SignInForm } from "./sign-in-form"

export const metadata: Metadata = { title: "Sign in" }

/** Messages for the error codes that next-auth adds to the URL. The code itself is never shown. */
const failures = new Map([
  ["OAuthAccountNotLinked", "An account with this email address already exists. Sign in with its password."],
  ["AccessDenied", `This account is suspended. Contact ${product.supportEmail}.`],
  ["SessionRequired", "Sign in to open this page."],
])

export default async function SignInPage({ searchParams }: PageProps<"/sign-in">) {
  const { error, callbackUrl, cleared } = await searchParams
  const path = localPath(typeof callbackUrl === "string" ? callbackUrl : undefined)
  if (await currentViewer()) redirect(path)
  // Redirects only once, because a cookie of another domain or path cannot be cleared here.
  if (cleared === undefined && (await sessionCookieNames()).length > 0) {
    redirect(
      `/sign-in/clear?${new URLSearchParams({ callbackUrl: path, ...(typeof error === "string" && { error }) })}`,
    )
  }
  return (
    <SignInLayout title="Sign in">
      {error !== undefined && (
        <Notice tone="bad" role="alert">
          {failures.get(String(error)) ?? "Sign-in failed. Try again or use another sign-in method."}
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
