import type { Metadata } from "next"
import { redirect } from "next/navigation"
import { ProviderButtons } from "@/app/_shell/provider-buttons"
import { pageAfterSignIn } from "@/app/_shell/sections"
import { NewPasswordField, SubmitButton, TextField } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { SignInLayout } from "@/components/page/sign-in-layout"
import { Link } from "@/components/ui/link"
import { localPath } from "@/lib/platform/http/local-path"
import { currentViewer } from "@/lib/sign-in/browser-session"
import { passwordMinLength } from "@/lib/sign-in/passwords/password-hash"
import { createAccount } from "./actions"

export const metadata: Metadata = { title: "Create account" }

export default async function SignUpPage({ searchParams }: PageProps<"/sign-up">) {
  const { callbackUrl, email } = await searchParams
  const path = localPath(typeof callbackUrl === "string" ? callbackUrl : undefined)
  const viewer = await currentViewer()
  if (viewer) redirect(await pageAfterSignIn(path, viewer.grantedRole))
  return (
    <SignInLayout title="Create account">
      <Form action={createAccount}>
        <input type="hidden" name="callbackUrl" value={path} />
        <TextField label="Name" name="name" autoComplete="name" required maxLength={100} />
        <TextField
          label="Email"
          name="email"
          type="email"
          autoComplete="username"
          required
          {...(typeof email === "string" && { defaultValue: email })}
        />
        <NewPasswordField label="Password" minLength={passwordMinLength} />
        <SubmitButton>Create account</SubmitButton>
      </Form>
      <ProviderButtons callbackUrl={path} />
      <p className="text-muted">
        Already have an account?{" "}
        <Link href={`/sign-in?callbackUrl=${encodeURIComponent(path)}`} className="text-accent underline">
          Sign in
        </Link>
      </p>
    </SignInLayout>
  )
}
