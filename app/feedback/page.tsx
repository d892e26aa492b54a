import type { Metadata } from "next"
import { Done } from "@/components/form/done"
import { SubmitButton, TextAreaField } from "@/components/form/fields"
import { Form } from "@/components/form/form"
import { Card, Cards } from "@/components/page/card"
import { PageFrame } from "@/components/page/page-frame"
import { buttonStyle } from "@/components/ui/button"
import { feedbackMaxLength } from "@/lib/feedback"
import { requireViewer } from "@/lib/sign-in/browser-session"
import { sendFeedback } from "./actions"
import { RatingField } from "./rating-field"

export const metadata: Metadata = { title: "Send feedback" }

export default async function FeedbackPage() {
  await requireViewer("/feedback")
  return (
    <PageFrame title="Send feedback" intro="Our team reads all feedback.">
      <Cards>
        <Card
          label="Send feedback"
          title="Your feedback"
          intro="Tell us what works, what does not and what is missing."
        >
          <Form action={sendFeedback} done={<ThankYou />} ifLost="Duplicate feedback is stored only once.">
            <RatingField />
            <TextAreaField
              label="Message"
              name="message"
              required
              rows={6}
              hint={`At most ${feedbackMaxLength.toLocaleString("en")} characters.`}
            />
            <SubmitButton className="justify-self-start">Send feedback</SubmitButton>
          </Form>
        </Card>
      </Cards>
    </PageFrame>
  )
}

function ThankYou() {
  return (
    <Done title="Thank you">
      <p className="text-muted">We received your feedback.</p>
      {/* A full page load, which renders an empty form. */}
      <a href="/feedback" className={buttonStyle()}>
        Send more feedback
      </a>
    </Done>
  )
}
