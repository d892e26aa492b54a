import type { Metadata } from "next"
import { headers } from "next/headers"
import { SubmitButton } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { BackLink } from "@/components/page/back-link"
import { Card, Cards } from "@/components/page/card"
import { PageFrame } from "@/components/page/page-frame"
import { requireViewer } from "@/lib/sign-in/browser-session"
import { browserOf } from "@/lib/sign-in/session-rows"
import { type Setup, setupMinutes, startedApp } from "@/lib/sign-in/two-factor/app"
import { factorsOf } from "@/lib/sign-in/two-factor/factors"
import { passkeyHost } from "@/lib/sign-in/two-factor/passkeys"
import { start } from "./actions"
import { FactorList } from "./factor-list"
import { AppForm, PasskeyForm, RecoveryForm } from "./forms"
import { QrCode } from "./qr-code"

export const metadata: Metadata = { title: "Two-factor authentication" }

const page = "/account/security/two-factor"

export default async function TwoFactorPage({ searchParams }: PageProps<"/account/security/two-factor">) {
  const viewer = await requireViewer(page)
  // A cookie copied before the proof does not see the secret: once the proof is old, a set-up starts again.
  const started = viewer.isFresh ? startedApp(viewer) : undefined
  const [factors, setup, { remove }] = await Promise.all([factorsOf(viewer.id), started, searchParams])
  const isOn = factors.app !== null || factors.passkeys.length > 0
  const browser = browserOf((await headers()).get("user-agent"))
  return (
    <PageFrame
      title="Two-factor authentication"
      intro="With a passkey or an authenticator app, nobody can sign in with your password alone. API keys are not affected."
      back={<BackLink href="/account/security">Security</BackLink>}
    >
      <Cards>
        <FactorList factors={factors} selected={remove} page={page} />
        <Card
          label="Passkey"
          title="Add a passkey"
          intro="Your device or password manager keeps it, and unlocks it with your fingerprint, face or PIN. It signs you in without your password."
        >
          <PasskeyForm host={passkeyHost()} browser={browser} />
        </Card>
        <Card
          label="Authenticator app"
          title={`${factors.app ? "Replace the" : "Add an"} authenticator app`}
          intro="An app on your phone, or your password manager, shows a new code every 30 seconds. You enter it after your password."
        >
          <AppForm unavailable={!setup && <StartForm />}>{setup && <AppSetup setup={setup} />}</AppForm>
        </Card>
        {isOn && (
          <Card
            label="Recovery codes"
            title="Recovery codes"
            intro="They sign you in when you have lost your other second factors. New codes replace the ones that you have."
          >
            <RecoveryForm left={factors.recoveryCodesLeft} />
          </Card>
        )}
      </Cards>
    </PageFrame>
  )
}

function StartForm() {
  return (
    <Form action={start}>
      <SubmitButton kind="plain" className="justify-self-start">
        Set up app
      </SubmitButton>
    </Form>
  )
}

function AppSetup({ setup: { secret, uri } }: { setup: Setup }) {
  return (
    <>
      <p className="text-muted">
        Scan the code with the app, or enter the secret. Then enter the code that the app shows. This works for{" "}
        {setupMinutes} minutes.
      </p>
      <QrCode text={uri} label="QR code for the authenticator app" />
      <div className="grid gap-1">
        <p className="font-medium">Secret</p>
        <code className="font-mono wrap-anywhere">{secret.match(/.{4}/g)?.join(" ")}</code>
      </div>
    </>
  )
}
