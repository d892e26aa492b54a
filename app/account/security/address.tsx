import { Done } from "@/components/form/done"
import { SubmitButton, TextField } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { Panel } from "@/components/page/page-frame"
import { Untrusted } from "@/components/values/untrusted"
import { verificationHours } from "@/lib/sign-in/sign-up"
import { changeAddress } from "./actions"

export function AddressForm({ email }: { email: string }) {
  return (
    <Panel label="Email address">
      <Form
        action={changeAddress}
        heading={<h2 className="text-base font-semibold">Change email address</h2>}
        done={<LinkSent />}
      >
        <p className="text-muted">
          You sign in as{" "}
          <strong className="font-semibold text-ink wrap-anywhere">
            <Untrusted>{email}</Untrusted>
          </strong>
          .
        </p>
        <TextField label="New email address" name="email" type="email" autoComplete="email" required />
        <SubmitButton className="justify-self-start">Send confirmation link</SubmitButton>
      </Form>
    </Panel>
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
