import type { Metadata } from "next"
import { Done } from "@/components/form/done"
import { NewPasswordField, PasswordField, SubmitButton } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { ContactOperator } from "@/components/page/contact-operator"
import { PageFrame, Panel } from "@/components/page/page-frame"
import { Link } from "@/components/ui/link"
import { deliversEmails } from "@/lib/platform/email/mailbox"
import { recentActivity } from "@/lib/sign-in/activity"
import { requireViewer } from "@/lib/sign-in/browser-session"
import { passwordMinLength } from "@/lib/sign-in/passwords/password-hash"
import { waysIn } from "@/lib/sign-in/providers/provider-accounts"
import { listSessions } from "@/lib/sign-in/session-rows"
import { factorsOf } from "@/lib/sign-in/two-factor/factors"
import { change } from "./actions"
import { RecentActivity } from "./activity"
import { AddressForm } from "./address"
import { Providers } from "./providers"
import { Sessions } from "./sessions"
import { TwoFactorPanel } from "./two-factor-panel"

export const metadata: Metadata = { title: "Security" }

const page = "/account/security"

export default async function SecurityPage({ searchParams }: PageProps<"/account/security">) {
  const viewer = await requireViewer(page)
  const [sessions, ways, factors, activity, query] = await Promise.all([
    listSessions(viewer),
    waysIn(viewer.id),
    factorsOf(viewer.id),
    recentActivity(viewer.id),
    searchParams,
  ])
  return (
    <PageFrame
      title="Security"
      intro="Your sign-in methods, the signed-in browsers, and the recent activity of your account."
    >
      <Providers ways={ways} passkeys={factors.passkeys.length} query={query} page={page} />
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-4 xl:grid-cols-2">
        <TwoFactorPanel factors={factors} />
        <Panel label="Password">{ways.hasPassword ? <PasswordForm email={viewer.email} /> : <NoPassword />}</Panel>
        <AddressForm email={viewer.email} />
      </div>
      <Sessions sessions={sessions} selected={query.end} page={page} />
      <RecentActivity entries={activity} />
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
      {deliversEmails() ? (
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

function PasswordForm({ email }: { email: string }) {
  return (
    <Form
      action={change}
      heading={<h2 className="text-base font-semibold">Change password</h2>}
      done={<Changed />}
      ifLost="If you are signed out, your new password is already set."
    >
      {/* Lets password managers match the password to the account. */}
      <input type="text" name="username" autoComplete="username" value={email} readOnly hidden />
      <PasswordField label="Current password" name="current" />
      <NewPasswordField label="New password" minLength={passwordMinLength} />
      <p className="text-muted">This signs out all other browsers. API keys keep working.</p>
      <SubmitButton className="justify-self-start">Change password</SubmitButton>
    </Form>
  )
}

function Changed() {
  return (
    <Done title="Your password was changed">
      <p className="text-muted">
        All other browsers are signed out. API keys keep working:{" "}
        <Link href="/api-keys" className="text-accent underline">
          revoke any that you do not recognize
        </Link>
        .
      </p>
    </Done>
  )
}
