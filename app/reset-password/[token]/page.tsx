import type { Metadata } from "next"
import { Done } from "@/components/form/done"
import { NewPasswordField, SubmitButton } from "@/components/form/fields"
import { SignInLayout } from "@/components/page/sign-in-layout"
import { buttonStyle } from "@/components/ui/button"
import { UntrustedStrong } from "@/components/values/untrusted"
import { passwordMinLength } from "@/lib/sign-in/passwords/password-hash"
import { addressOf, resetMinutes } from "@/lib/sign-in/passwords/password-reset"
import { ResetForm } from "./reset-form"

export const metadata: Metadata = { title: "Set a new password" }

export default async function NewPasswordPage({ params }: PageProps<"/reset-password/[token]">) {
  const { token } = await params
  const email = await addressOf(token)
  return (
    <SignInLayout title="Set a new password">
      <ResetForm unavailable={email === undefined && <InvalidLink />}>
        <input type="hidden" name="token" value={token} />
        {/* Named, so that nobody sets the password of another person's account by mistake. */}
        <p>
          For the account <UntrustedStrong>{email ?? ""}</UntrustedStrong>.
        </p>
        <input type="text" name="username" autoComplete="username" value={email} readOnly hidden />
        <NewPasswordField label="New password" minLength={passwordMinLength} />
        <p className="text-muted">This signs out all other browsers. Your API keys do not change.</p>
        <SubmitButton>Set password</SubmitButton>
      </ResetForm>
    </SignInLayout>
  )
}

function InvalidLink() {
  return (
    <Done title="This link is invalid or has expired">
      <p className="text-muted">
        A link works once and expires after {resetMinutes} minutes. Only the link in the latest email works. If you have
        already set a new password, sign in with it.
      </p>
      <div className="flex flex-wrap gap-2">
        <a href="/reset-password" className={buttonStyle()}>
          Request a new link
        </a>
        <a href="/sign-in" className={buttonStyle("quiet")}>
          Sign in
        </a>
      </div>
    </Done>
  )
}
