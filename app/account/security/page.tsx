import type { Metadata } from "next"
import { ContactOperator } from "@/app/reset-password/contact-operator"
import { Link } from "@/components/link"
import { PageFrame, Panel } from "@/components/page-frame"
import { hasPassword } from "@/lib/sign-in/password-change"
import { resetsByEmail } from "@/lib/sign-in/password-reset"
import { requireViewer } from "@/lib/sign-in/session"
import { PasswordForm } from "./password-form"

export const metadata: Metadata = { title: "Security" }

export default async function SecurityPage() {
  const viewer = await requireViewer("/account/security")
  return (
    <PageFrame title="Security" intro="Manage your password.">
      <Panel label="Password">
        {(await hasPassword(viewer.id)) ? <PasswordForm email={viewer.email} /> : <NoPassword />}
      </Panel>
    </PageFrame>
  )
}

function NoPassword() {
  return (
    <>
      <h2 className="text-base font-semibold">No password</h2>
      <p className="text-muted">
        You sign in through another service, so this account has no password. To set one, confirm that you own the
        account’s email address.
      </p>
      {resetsByEmail() ? (
        <p>
          <Link href="/reset-password" className="text-accent underline">
            Set a password by email
          </Link>
        </p>
      ) : (
        <ContactOperator />
      )}
    </>
  )
}
