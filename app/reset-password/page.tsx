import type { Metadata } from "next"
import { Done } from "@/components/form/done"
import { SubmitButton, TextField } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { ContactOperator } from "@/components/page/contact-operator"
import { SignInLayout } from "@/components/page/sign-in-layout"
import { Link } from "@/components/ui/link"
import { deliversEmails } from "@/lib/platform/email/mailbox"
import { currentViewer } from "@/lib/sign-in/browser-session"
import { resetMinutes } from "@/lib/sign-in/passwords/password-reset"
import { request } from "./actions"

export const metadata: Metadata = { title: "Reset password" }

export default async function ResetPasswordPage() {
  const viewer = await currentViewer()
  return (
    <SignInLayout title="Reset password">
      {deliversEmails() ? (
        <Form action={request} done={<EmailSent />}>
          <TextField
            label="Email"
            name="email"
            type="email"
            autoComplete="username"
            required
            hint="We will email you a link to set a new password."
            defaultValue={viewer?.email}
          />
          <SubmitButton>Send reset link</SubmitButton>
        </Form>
      ) : (
        <ContactOperator />
      )}
      <p>
        <Link href={viewer ? "/account/security" : "/sign-in"} className="text-accent underline">
          {viewer ? "Back to your account" : "Back to sign-in"}
        </Link>
      </p>
    </SignInLayout>
  )
}

/** Shown for unknown addresses too, so that the page does not reveal which accounts exist. */
function EmailSent() {
  return (
    <Done title="Check your email">
      <p className="text-muted">
        If this address belongs to an account, we sent it an email with a link. It expires after {resetMinutes} minutes
        and works once. Only the link in the latest email works.
      </p>
    </Done>
  )
}
