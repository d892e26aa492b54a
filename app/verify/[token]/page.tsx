import type { Metadata } from "next"
import type { ReactNode } from "react"
import { Done } from "@/components/form/done"
import { PasswordField, SubmitButton } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { SignInLayout } from "@/components/page/sign-in-layout"
import { buttonStyle } from "@/components/ui/button"
import { UntrustedStrong } from "@/components/values/untrusted"
import { findAddressChange } from "@/lib/address-change"
import { requireViewer } from "@/lib/sign-in/browser-session"
import { findSignUp, signUpOfBrowser, verificationHours } from "@/lib/sign-in/sign-up"
import { confirmChange, undoChange, verify } from "./actions"

export const metadata: Metadata = { title: "Confirm your email address" }

/** Acts when its button is pressed, not when it is opened, because mail scanners open links, too. */
export default async function VerifyLinkPage({ params }: PageProps<"/verify/[token]">) {
  const { token } = await params
  const [signUp, change] = await Promise.all([findSignUp(token), findAddressChange(token)])
  if (change?.confirmedAt) return <UndoChange token={token} to={change.from} />
  if (change) {
    const viewer = await requireViewer(`/verify/${token}`)
    return <ConfirmChange token={token} to={change.to} unavailable={viewer.id !== change.userId && <OtherAccount />} />
  }
  const isSameBrowser = signUp !== null && (await signUpOfBrowser())?.id === signUp.id
  return (
    <SignInLayout title="Confirm your email address">
      <Form action={verify} unavailable={!signUp && <InvalidLink />}>
        <input type="hidden" name="token" value={token} />
        <p>
          This finishes the sign-up of <UntrustedStrong>{signUp?.email ?? ""}</UntrustedStrong>.
        </p>
        {!isSameBrowser && (
          <>
            {/* Lets password managers match the password to the account. */}
            <input type="text" name="username" autoComplete="username" value={signUp?.email} readOnly hidden />
            <PasswordField
              label="Password"
              name="password"
              hint="The password that you chose at sign-up. If you did not sign up, close this page."
            />
          </>
        )}
        <SubmitButton>Confirm address</SubmitButton>
      </Form>
    </SignInLayout>
  )
}

function ConfirmChange({ token, to, unavailable }: { token: string; to: string; unavailable: ReactNode }) {
  return (
    <SignInLayout title="Confirm your new email address">
      <Form action={confirmChange} unavailable={unavailable}>
        <input type="hidden" name="token" value={token} />
        <p>
          From now on you sign in as <UntrustedStrong>{to}</UntrustedStrong>, and all emails are sent there.
        </p>
        <SubmitButton>Change address</SubmitButton>
      </Form>
    </SignInLayout>
  )
}

function UndoChange({ token, to }: { token: string; to: string }) {
  return (
    <SignInLayout title="Undo the change of address">
      <Form action={undoChange}>
        <input type="hidden" name="token" value={token} />
        <p>
          The address of the account becomes <UntrustedStrong>{to}</UntrustedStrong> again. All browsers are signed out,
          the password and all connected services are removed, and API keys created since are revoked.
        </p>
        <SubmitButton kind="danger">Undo the change</SubmitButton>
      </Form>
    </SignInLayout>
  )
}

function OtherAccount() {
  return (
    <Done title="This link belongs to another account">
      <p className="text-muted">Sign out, sign in to the account whose address you are changing, and open it again.</p>
    </Done>
  )
}

function InvalidLink() {
  return (
    <Done title="This link is invalid or has expired">
      <p className="text-muted">
        A link works once and expires after {verificationHours} hours. Only the link in the latest email works. If you
        have already confirmed your address, sign in.
      </p>
      <div className="flex flex-wrap gap-2">
        <a href="/sign-in" className={buttonStyle()}>
          Sign in
        </a>
        <a href="/sign-up" className={buttonStyle("quiet")}>
          Sign up again
        </a>
      </div>
    </Done>
  )
}
