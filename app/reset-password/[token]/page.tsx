import type { Metadata } from "next"
import { Entrance } from "@/components/entrance"
import { passwordMinLength } from "@/lib/sign-in/password-hash"
import { isLive, resetMinutes } from "@/lib/sign-in/password-reset"
import { NewPasswordForm } from "./new-password-form"

export const metadata: Metadata = { title: "Set a new password" }

export default async function NewPasswordPage({ params }: PageProps<"/reset-password/[token]">) {
  const { token } = await params
  return (
    <Entrance title="Set a new password">
      <NewPasswordForm
        token={token}
        live={await isLive(token)}
        minutes={resetMinutes}
        passwordMinLength={passwordMinLength}
      />
    </Entrance>
  )
}
