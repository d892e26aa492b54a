import { Done } from "@/components/form/done"
import { PasswordField, SubmitButton, TextField } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { Panel } from "@/components/page-frame"
import { Untrusted } from "@/components/untrusted"
import { verificationHours } from "@/lib/sign-in/sign-up"
import { changeAddress } from "./actions"

export function AddressForm({ email, hasPassword }: { email: string; hasPassword: boolean }) {
  return (
    <Panel label="Email address">
      <Form action={changeAddress} done={<LinkSent />} unavailable={!hasPassword && <PasswordFirst email={email} />}>
        <h2 className="text-base font-semibold">Change email address</h2>
        <p className="text-muted">
          You sign in as <Address of={email} />.
        </p>
        <TextField label="New email address" name="email" type="email" autoComplete="email" required />
        <PasswordField label="Your password" name="current" />
        <SubmitButton className="justify-self-start">Send confirmation link</SubmitButton>
      </Form>
    </Panel>
  )
}

function PasswordFirst({ email }: { email: string }) {
  return (
    <>
      <h2 className="text-base font-semibold">Email address</h2>
      <p className="text-muted">
        Your address is <Address of={email} />. To change it, set a password first.
      </p>
    </>
  )
}

function Address({ of }: { of: string }) {
  return (
    <strong className="font-semibold text-ink wrap-anywhere">
      <Untrusted>{of}</Untrusted>
    </strong>
  )
}

function LinkSent() {
  return (
    <Done title="Check the new address">
      <p className="text-muted">
        We sent it a link that expires after {verificationHours} hours. Your address changes when you open the link and
        confirm.
      </p>
    </Done>
  )
}
