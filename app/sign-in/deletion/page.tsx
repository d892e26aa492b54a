import type { Metadata } from "next"
import { SubmitButton } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { SignInLayout } from "@/components/page/sign-in-layout"
import { UntrustedStrong } from "@/components/values/untrusted"
import { findDeletion } from "@/lib/accounts/deletion"
import { absoluteTime, unbroken } from "@/lib/platform/text/format-time"
import { requireStep } from "../step"
import { keep, undo } from "./actions"

export const metadata: Metadata = { title: "Your account will be deleted" }

export default async function DeletionPage() {
  const pending = await requireStep("deletion", "/")
  const deletion = await findDeletion(pending.userId)
  return (
    <SignInLayout title="Your account will be deleted">
      <p>
        {pending.via === "password reset" && "Your new password is set. "}The account{" "}
        <UntrustedStrong>{pending.email}</UntrustedStrong> is closed, and requests with its API keys are rejected.
        {deletion && ` On ${unbroken(absoluteTime(deletion.dueAt))} its personal data is deleted for good.`}
      </p>
      <Form action={undo} className="grid gap-2">
        <SubmitButton>Undo the deletion</SubmitButton>
        <p className="text-muted">
          This signs you in, and API keys that have not ended work again at once. A subscription that has ended is not
          resumed.
        </p>
      </Form>
      <Form action={keep} className="grid gap-2 border-t border-line pt-5">
        <SubmitButton kind="plain">Keep the deletion</SubmitButton>
        <p className="text-muted">The account stays closed, and nobody is signed in.</p>
      </Form>
    </SignInLayout>
  )
}
