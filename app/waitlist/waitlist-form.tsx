import { buttonStyle } from "@/components/button"
import { Done } from "@/components/form/done"
import { SubmitButton, TextAreaField, TextField } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { Link } from "@/components/link"
import { product } from "@/lib/product"
import { waitlistNoteMaxLength } from "@/lib/waitlist/waitlist"
import { join } from "./actions"

export function WaitlistForm({ source }: { source: string }) {
  return (
    <Form action={join} done={<OnTheList />}>
      <input type="hidden" name="source" value={source} />
      <TextField label="Email" name="email" type="email" autoComplete="email" required />
      <TextAreaField
        label="Note (optional)"
        name="note"
        rows={4}
        hint={`What would you use ${product.name} for? At most ${waitlistNoteMaxLength.toLocaleString("en")} characters.`}
      />
      <SubmitButton>Join the waitlist</SubmitButton>
    </Form>
  )
}

/** Shown for an address that was already on the list too. */
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
