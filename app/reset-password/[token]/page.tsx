import type { Metadata } from "next"
import { SignInLayout } from "@/components/sign-in-layout"
import { isLive } from "@/lib/sign-in/password-reset"
import { NewPasswordForm } from "./new-password-form"

export const metadata: Metadata = { title: "Set a new password" }

export default async function NewPasswordPage({ params }: PageProps<"/reset-password/[token]">) {
  const { token } = await params
  return (
    <SignInLayout title="Set a new password">
      <NewPasswordForm token={token} live={await isLive(token)} />
    </SignInLayout>
  )
}
