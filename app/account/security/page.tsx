import type { Metadata } from "next"
import { ContactOperator } from "@/app/reset-password/contact-operator"
import { Link } from "@/components/link"
import { hasPassword } from "@/lib/sign-in/password-change"
import { passwordMinLength } from "@/lib/sign-in/password-hash"
import { resetsByEmail } from "@/lib/sign-in/password-reset"
import { requireViewer } from "@/lib/sign-in/session"
import { PasswordForm } from "./password-form"

export const metadata: Metadata = { title: "Security" }

export default async function SecurityPage() {
  const viewer = await requireViewer("/account/security")
  return (
    <div className="mx-auto grid max-w-6xl grid-cols-[minmax(0,1fr)] gap-6">
      <header className="grid gap-1">
        <h1 className="text-xl font-semibold tracking-tight">Security</h1>
        <p className="text-muted">Manage your password.</p>
      </header>
      <section aria-label="Password" className="grid max-w-xl gap-4 rounded-lg border border-line bg-panel p-5">
        {(await hasPassword(viewer.id)) ? (
          <PasswordForm email={viewer.email} passwordMinLength={passwordMinLength} />
        ) : (
          <NoPassword />
        )}
      </section>
    </div>
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
