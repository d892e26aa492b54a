import { Done } from "@/components/form/done"
import { NewPasswordField, SubmitButton, TextField } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { Link } from "@/components/link"
import { passwordMinLength } from "@/lib/sign-in/password-hash"
import { change } from "./actions"

export function PasswordForm({ email }: { email: string }) {
  return (
    <Form action={change} done={<Changed />} ifLost="If you are signed out, your new password is already set.">
      <h2 className="text-base font-semibold">Change password</h2>
      {/* Lets password managers match the password to the account. */}
      <input type="text" name="username" autoComplete="username" value={email} readOnly hidden />
      <TextField label="Current password" name="current" type="password" autoComplete="current-password" required />
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
