import type { Metadata } from "next"
import { feedbackMaxLength } from "@/lib/feedback"
import { requireViewer } from "@/lib/sign-in/session"
import { FeedbackForm } from "./feedback-form"

export const metadata: Metadata = { title: "Give feedback" }

export default async function FeedbackPage() {
  await requireViewer("/feedback")
  return (
    <div className="mx-auto grid max-w-6xl grid-cols-[minmax(0,1fr)] gap-6">
      <header className="grid gap-1">
        <h1 className="text-xl font-semibold tracking-tight">Feedback</h1>
        <p className="text-muted">
          Tell us what works, what does not and what is missing. Our team reads all feedback.
        </p>
      </header>
      <section aria-label="Give feedback" className="grid max-w-xl gap-4 rounded-lg border border-line bg-panel p-5">
        <FeedbackForm maxLength={feedbackMaxLength} />
      </section>
    </div>
  )
}
