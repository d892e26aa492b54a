import type { Metadata } from "next"
import { PageFrame, Panel } from "@/components/page-frame"
import { requireViewer } from "@/lib/sign-in/session"
import { FeedbackForm } from "./feedback-form"

export const metadata: Metadata = { title: "Give feedback" }

export default async function FeedbackPage() {
  await requireViewer("/feedback")
  return (
    <PageFrame
      title="Feedback"
      intro="Tell us what works, what does not and what is missing. Our team reads all feedback."
    >
      <Panel label="Give feedback">
        <FeedbackForm />
      </Panel>
    </PageFrame>
  )
}
