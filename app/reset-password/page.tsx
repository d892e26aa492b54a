import type { Metadata } from "next"
import { Entrance } from "@/components/entrance"
import { Link } from "@/components/link"
import { resetMinutes, resetsByMail } from "@/lib/sign-in/password-reset"
import { currentViewer } from "@/lib/sign-in/session"
import { AskOperator } from "./ask-operator"
import { RequestForm } from "./request-form"

export const metadata: Metadata = { title: "Reset password" }

export default async function ResetPasswordPage() {
  const viewer = await currentViewer()
  return (
    <Entrance title="Reset password">
      {resetsByMail() ? <RequestForm email={viewer?.email} minutes={resetMinutes} /> : <AskOperator />}
      <p>
        <Link href={viewer ? "/account/security" : "/sign-in"} className="text-accent underline">
          {viewer ? "Back to your account" : "Back to sign-in"}
        </Link>
      </p>
    </Entrance>
  )
}
