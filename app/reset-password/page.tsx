import type { Metadata } from "next"
import { Link } from "@/components/link"
import { SignInLayout } from "@/components/sign-in-layout"
import { resetsByEmail } from "@/lib/sign-in/password-reset"
import { currentViewer } from "@/lib/sign-in/session"
import { ContactOperator } from "./contact-operator"
import { RequestForm } from "./request-form"

export const metadata: Metadata = { title: "Reset password" }

export default async function ResetPasswordPage() {
  const viewer = await currentViewer()
  return (
    <SignInLayout title="Reset password">
      {resetsByEmail() ? <RequestForm email={viewer?.email} /> : <ContactOperator />}
      <p>
        <Link href={viewer ? "/account/security" : "/sign-in"} className="text-accent underline">
          {viewer ? "Back to your account" : "Back to sign-in"}
        </Link>
      </p>
    </SignInLayout>
  )
}
