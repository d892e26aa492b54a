import { Done } from "@/components/form/done"
import { SubmitButton, TextField } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { Card } from "@/components/page/card"
import { Untrusted } from "@/components/values/untrusted"
import { verificationHours } from "@/lib/sign-in/sign-up"
import { changeAddress } from "./actions"

export function AddressCard({ email }: { email: string }) {
  return (
    <Card
      label="Email address"
      title="Change email address"
      intro={
        <>
          You sign in as{" "}
          <strong className="font-semibold text-ink wrap-anywhere">
            <Untrusted>{email}</Untrusted>
          </strong>
          .
        </>
      }
    >
      <Form action={changeAddress} done={<LinkSent />}>
        <TextField label="New email address" name="email" type="email" autoComplete="email" required />
        <SubmitButton className="justify-self-start">Send confirmation link</SubmitButton>
      </Form>
    </Card>
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
