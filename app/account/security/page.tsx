import type { Metadata } from "next"
import { Done } from "@/components/form/done"
import { NewPasswordField, PasswordField, SubmitButton } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { Card, Cards } from "@/components/page/card"
import { ContactOperator } from "@/components/page/contact-operator"
import { PageFrame } from "@/components/page/page-frame"
import { buttonStyle } from "@/components/ui/button"
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
import { AddressCard } from "./address"
import { Providers } from "./providers"
import { Sessions } from "./sessions"
import { TwoFactorCard } from "./two-factor-card"

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
      <Cards>
        <TwoFactorCard factors={factors} />
        {ways.hasPassword ? <PasswordCard email={viewer.email} /> : <NoPasswordCard />}
        <AddressCard email={viewer.email} />
        <Providers ways={ways} passkeys={factors.passkeys.length} query={query} page={page} />
        <Sessions sessions={sessions} selected={query.end} page={page} />
        <RecentActivity entries={activity} />
      </Cards>
    </PageFrame>
  )
}

function NoPasswordCard() {
  return (
    <Card
      label="Password"
      title="No password"
      intro="You sign in through another service. To set a password, confirm that you own the account’s email address."
    >
      {deliversEmails() ? (
        <Link href="/reset-password" className={`${buttonStyle()} justify-self-start`}>
          Set a password by email
        </Link>
      ) : (
        <ContactOperator />
      )}
    </Card>
  )
}

function PasswordCard({ email }: { email: string }) {
  return (
    <Card
      label="Password"
      title="Change password"
      intro="A new password signs out all other browsers. API keys keep working."
    >
      <Form action={change} done={<Changed />} ifLost="If you are signed out, your new password is already set.">
        {/* Lets password managers match the password to the account. */}
        <input type="text" name="username" autoComplete="username" value={email} readOnly hidden />
        <PasswordField label="Current password" name="current" />
        <NewPasswordField label="New password" minLength={passwordMinLength} />
        <SubmitButton className="justify-self-start">Change password</SubmitButton>
      </Form>
    </Card>
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
