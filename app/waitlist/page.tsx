import type { Metadata } from "next"
import { Done } from "@/components/form/done"
import { SubmitButton, TextAreaField, TextField } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { SignInLayout } from "@/components/page/sign-in-layout"
import { buttonStyle } from "@/components/ui/button"
import { Link } from "@/components/ui/link"
import { product } from "@/lib/product"
import { waitlistNoteMaxLength } from "@/lib/waitlist/waitlist"
import { join } from "./actions"

export const metadata: Metadata = { title: "Join the waitlist" }

export default async function WaitlistPage({ searchParams }: PageProps<"/waitlist">) {
  const { source } = await searchParams
  return (
    <SignInLayout title="Join the waitlist">
      <Form action={join} done={<OnTheList />}>
        <input type="hidden" name="source" value={typeof source === "string" ? source : ""} />
        <TextField label="Email" name="email" type="email" autoComplete="email" required />
        <TextAreaField
          label="Note (optional)"
          name="note"
          rows={4}
          hint={`What would you use ${product.name} for? At most ${waitlistNoteMaxLength.toLocaleString("en")} characters.`}
        />
        <SubmitButton>Join the waitlist</SubmitButton>
      </Form>
    </SignInLayout>
  )
}

/** Also shown for an address that was already on the list. */
function OnTheList() {
  return (
    <Done title="You are on the waitlist">
      <p className="text-muted">We will email this address when a place becomes available.</p>
      <Link href="/" className={buttonStyle()}>
        Go to the home page
      </Link>
    </Done>
  )
}
