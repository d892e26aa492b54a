import type { Metadata } from "next"
import { SubmitButton, TextField } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { PasskeyButton } from "@/components/form/passkey-button"
import { SignInLayout } from "@/components/page/sign-in-layout"
import { SupportLink } from "@/components/page/support-link"
import { Link } from "@/components/ui/link"
import { UntrustedStrong } from "@/components/values/untrusted"
import { localPath } from "@/lib/platform/http/local-path"
import { factorsOf } from "@/lib/sign-in/two-factor/factors"
import { passkeyHost } from "@/lib/sign-in/two-factor/passkeys"
import { requireStep } from "../step"
import { confirmByCode, confirmByPasskey, passkeyRequest } from "./actions"

export const metadata: Metadata = { title: "Confirm your sign-in" }

export default async function ConfirmPage({ searchParams }: PageProps<"/sign-in/confirm">) {
  const { callbackUrl } = await searchParams
  const path = localPath(typeof callbackUrl === "string" ? callbackUrl : undefined)
  const pending = await requireStep("factor", path)
  const { app, passkeys, recoveryCodesLeft } = await factorsOf(pending.userId)
  const hasCodes = app !== null || recoveryCodesLeft > 0
  const isNewPassword = pending.via === "password reset"
  return (
    <SignInLayout title="Confirm your sign-in">
      <p>
        {isNewPassword && "Your new password is set. "}To sign in as <UntrustedStrong>{pending.email}</UntrustedStrong>,
        show that it is you.
      </p>
      {passkeys.length > 0 && (
        <Form action={confirmByPasskey}>
          <input type="hidden" name="callbackUrl" value={path} />
          <PasskeyButton
            ceremony={{ use: "get", options: passkeyRequest }}
            host={passkeyHost()}
            kind={app ? "plain" : "primary"}
          >
            Use a passkey
          </PasskeyButton>
        </Form>
      )}
      {hasCodes && (
        <Form action={confirmByCode}>
          <input type="hidden" name="callbackUrl" value={path} />
          <TextField
            label={app ? "Code" : "Recovery code"}
            name="code"
            autoFocus
            hint={app ? "From your authenticator app, or a recovery code." : undefined}
            autoComplete="one-time-code"
            autoCapitalize="none"
            spellCheck={false}
            maxLength={60}
            required
          />
          <SubmitButton kind={app ? "primary" : "plain"}>Confirm</SubmitButton>
        </Form>
      )}
      <p className="text-muted">
        Lost your device and your recovery codes? Contact <SupportLink />.
      </p>
      <p className="text-muted">
        Not you?{" "}
        <Link href="/sign-in" className="text-accent underline">
          Sign in to another account
        </Link>
      </p>
    </SignInLayout>
  )
}
