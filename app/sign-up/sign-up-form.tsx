import { NewPasswordField, SubmitButton, TextField } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { passwordMinLength } from "@/lib/sign-in/password-hash"
import { createAccount } from "./actions"

export function SignUpForm({ callbackUrl }: { callbackUrl: string }) {
  return (
    <Form action={createAccount}>
      <input type="hidden" name="callbackUrl" value={callbackUrl} />
      <TextField label="Name" name="name" autoComplete="name" required maxLength={100} />
      <TextField label="Email" name="email" type="email" autoComplete="username" required />
      <NewPasswordField label="Password" minLength={passwordMinLength} />
      <SubmitButton>Create account</SubmitButton>
    </Form>
  )
}
