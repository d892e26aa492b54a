import type { Metadata } from "next"
import { Done } from "@/components/form/done"
import { SubmitButton } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { SignInLayout } from "@/components/page/sign-in-layout"
import { buttonStyle } from "@/components/ui/button"
import { Link } from "@/components/ui/link"
import { UntrustedStrong } from "@/components/values/untrusted"
import { undoHours } from "@/lib/accounts/reserved-address"
import { isDevelopmentOpen } from "@/lib/platform/http/development"
import { signUpOfBrowser, verificationHours } from "@/lib/sign-in/sign-up"
import { sendAgain } from "./actions"

export const metadata: Metadata = { title: "Confirm your email address" }

export default async function VerifyPage({ searchParams }: PageProps<"/verify">) {
  const { done } = await searchParams
  if (done === "changed") return <AddressChanged />
  if (done === "restored") return <AddressRestored />
  const waiting = await signUpOfBrowser()
  return (
    <SignInLayout title="Check your email">
      {waiting ? (
        <>
          <p>
            We sent an email to <UntrustedStrong>{waiting.email}</UntrustedStrong>. Open the link in it to finish
            signing up. It expires after {verificationHours} hours.
          </p>
          {(await isDevelopmentOpen()) && (
            <p>
              This demo keeps its emails:{" "}
              <Link href="/dev/mailbox" className="text-accent underline">
                open the mailbox
              </Link>
              .
            </p>
          )}
          <Form action={sendAgain} done={<SentAgain />}>
            <p className="text-muted">No email after a minute? Look in your spam folder, or have it sent again.</p>
            <SubmitButton kind="plain">Resend email</SubmitButton>
          </Form>
        </>
      ) : (
        <p>This browser has no sign-up to confirm. Open the link in the email, or sign up again.</p>
      )}
      <p className="text-muted">
        Wrong address?{" "}
        <Link href="/sign-up" className="text-accent underline">
          Sign up again
        </Link>
        . Already confirmed?{" "}
        <Link href="/sign-in" className="text-accent underline">
          Sign in
        </Link>
      </p>
    </SignInLayout>
  )
}

function AddressChanged() {
  return (
    <SignInLayout title="Your address was changed">
      <p className="text-muted">
        You sign in with the new address. We sent an email to your previous address with a link that undoes the change,
        for {undoHours} hours.
      </p>
      <a href="/account/security" className={buttonStyle()}>
        Go to your account
      </a>
    </SignInLayout>
  )
}

function AddressRestored() {
  return (
    <SignInLayout title="Your address is restored">
      <p className="text-muted">
        All browsers are signed out, and the old password no longer works: set a new one. Then check your API keys.
      </p>
      <a href="/reset-password" className={buttonStyle("primary")}>
        Set a new password
      </a>
    </SignInLayout>
  )
}

function SentAgain() {
  return (
    <Done title="We sent another email">
      <p className="text-muted">
        Only the link in the latest email works. At most three emails are sent within 15 minutes.
      </p>
    </Done>
  )
}
