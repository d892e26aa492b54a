import { SubmitButton, TextField } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { signIn } from "./actions"

export function SignInForm({ callbackUrl }: { callbackUrl: string }) {
  return (
    <Form action={signIn}>
      <input type="hidden" name="callbackUrl" value={callbackUrl} />
      <TextField label="Email" name="email" type="email" autoComplete="username" required />
      <TextField label="Password" name="password" type="password" autoComplete="current-password" required />
      <SubmitButton>Sign in</SubmitButton>
    </Form>
  )
}
