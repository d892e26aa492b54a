import type { Metadata } from "next"
import { redirect } from "next/navigation"
import { ProviderButtons } from "@/app/_shell/provider-buttons"
import { pageAfterSignIn } from "@/app/_shell/sections"
import { PasswordField, SubmitButton, TextField } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { PasskeyButton } from "@/components/form/passkey-button"
import { SignInLayout } from "@/components/page/sign-in-layout"
import { Link } from "@/components/ui/link"
import { Notice } from "@/components/ui/notice"
import { graceDays } from "@/lib/accounts/grace-days"
import { localPath } from "@/lib/platform/http/local-path"
import { product } from "@/lib/product"
import { currentViewer, pageOfStep, pendingSignIn, sessionCookieNames } from "@/lib/sign-in/browser-session"
import { passkeyHost } from "@/lib/sign-in/two-factor/passkeys"
import { passkeyRequest, signIn, signInByPasskey } from "./actions"

export const metadata: Metadata = { title: "Sign in" }

/** By the error code in the URL, mostly from the callback of a provider. The code itself is never shown. */
const failures = new Map([
  [
    "OAuthAccountNotLinked",
    "An account with this email address already exists. Sign in as before, for example with your password, then choose Security → Connect.",
  ],
  [
    "UnverifiedAddress",
    "The service that you signed in with has not verified your email address. Verify it there, or create an account with a password.",
  ],
  ["AccessDenied", `This account is banned. Contact ${product.supportEmail}.`],
  ["TooMany", "Too many attempts. Try again in a few minutes."],
  [
    "SignOut",
    "You are signed out in this browser, but the service was unavailable and could not end the session. Sign in later and sign out that browser under Security.",
  ],
  ["SessionRequired", "Sign in to open this page."],
])

export default async function SignInPage({ searchParams }: PageProps<"/sign-in">) {
  const { error, callbackUrl, cleared, deletion } = await searchParams
  const path = localPath(typeof callbackUrl === "string" ? callbackUrl : undefined)
  const viewer = await currentViewer()
  if (viewer) redirect(await pageAfterSignIn(path, viewer.grantedRole))
  // The deletion of the account is decided first: the deletion page also ends this sign-in.
  const pending = await pendingSignIn()
  if (pending?.step === "deletion") redirect(pageOfStep(pending.step, path))
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
      {deletion === "requested" && (
        <Notice tone="good" role="status">
          Your account is closed and will be deleted in {graceDays} days. Until then you can sign in and undo the
          deletion.
        </Notice>
      )}
      {deletion === "kept" && (
        <Notice tone="good" role="status">
          You are not signed in. The account stays closed and will still be deleted.
        </Notice>
      )}
      <Form action={signIn}>
        <input type="hidden" name="callbackUrl" value={path} />
        <TextField label="Email" name="email" type="email" autoComplete="username" required />
        <PasswordField label="Password" name="password" />
        <SubmitButton>Sign in</SubmitButton>
      </Form>
      <p>
        <Link href="/reset-password" className="text-accent underline">
          Forgot password?
        </Link>
      </p>
      <Form action={signInByPasskey} className="grid gap-2 border-t border-line pt-5">
        <input type="hidden" name="callbackUrl" value={path} />
        <PasskeyButton ceremony={{ use: "get", options: passkeyRequest }} host={passkeyHost()}>
          Continue with a passkey
        </PasskeyButton>
      </Form>
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
