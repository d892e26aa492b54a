import { Done } from "@/components/form/done"
import { SubmitButton, TextField } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { resetMinutes } from "@/lib/sign-in/password-reset"
import { request } from "./actions"

/** @param email the viewer's address; undefined when signed out */
export function RequestForm({ email }: { email: string | undefined }) {
  return (
    <Form action={request} done={<EmailSent />}>
      <TextField
        label="Email"
        name="email"
        type="email"
        autoComplete="username"
        required
        hint="We will email you a link to set a new password."
        defaultValue={email}
      />
      <SubmitButton>Send reset link</SubmitButton>
    </Form>
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
