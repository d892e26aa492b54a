import type { Confirmation } from "@/components/confirm/confirm-form"
import { RequestId, TextAreaField } from "@/components/form/fields"
import { Untrusted } from "@/components/values/untrusted"
import type { FeedbackStatus } from "@/generated/prisma/enums"
import { reply, resolve, review } from "./actions"

export type Subject = {
  id: string
  message: string
  rating: number
  status: FeedbackStatus
  /** Undefined if the viewer may not read accounts. */
  email: string | undefined
  requestId: string
}

const actions = {
  reply: {
    label: "Reply",
    title: "Reply to this feedback",
    submit: "Send reply",
    action: reply,
    statuses: ["new", "reviewed", "resolved"],
  },
  review: {
    label: "Mark as reviewed",
    title: "Mark this feedback as reviewed?",
    submit: "Mark as reviewed",
    action: review,
    statuses: ["new"],
  },
  resolve: {
    label: "Resolve",
    title: "Resolve this feedback?",
    submit: "Resolve",
    action: resolve,
    statuses: ["new", "reviewed"],
  },
} as const satisfies Record<string, { statuses: readonly FeedbackStatus[]; [fact: string]: unknown }>

export type FeedbackAction = keyof typeof actions

export const actionNames = Object.keys(actions) as FeedbackAction[]

export function labelOf(name: FeedbackAction): string {
  return actions[name].label
}

export function isOffered(name: FeedbackAction, { status }: Pick<Subject, "status">): boolean {
  return actions[name].statuses.some((offered) => offered === status)
}

export function confirmationOf(name: FeedbackAction, { id, message, rating, email, requestId }: Subject): Confirmation {
  const { title, submit, action } = actions[name]
  return {
    title,
    description: (
      <>
        <span className="block pb-2 wrap-anywhere">
          {email ? <Untrusted>{email}</Untrusted> : "A customer"} rated {rating} of 5 and wrote:
        </span>
        <span className="block max-h-48 overflow-y-auto border-l-2 border-line pl-3 whitespace-pre-line wrap-anywhere">
          <Untrusted>{message}</Untrusted>
        </span>
      </>
    ),
    action,
    fields: (
      <>
        <input type="hidden" name="id" value={id} />
        {name === "reply" && (
          <>
            <RequestId id={requestId} />
            <TextAreaField
              label="Reply"
              name="reply"
              maxLength={2_000}
              required
              hint="Sent by email to the address of the account. New feedback is then marked as reviewed."
            />
          </>
        )}
      </>
    ),
    submit,
    kind: "primary",
  }
}
