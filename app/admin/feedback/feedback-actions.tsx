import type { Confirmation } from "@/components/confirm/confirm-form"
import { RequestId, TextAreaField } from "@/components/form/fields"
import { NamedRows } from "@/components/list/named-rows"
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
  /** The text of the last reply. */
  reply: string | null
}

const actions = {
  reply: {
    label: "Reply",
    title: () => "Reply to this feedback",
    submit: "Send reply",
    action: reply,
    statuses: ["new", "reviewed", "resolved"],
  },
  review: {
    label: "Reviewed",
    title: (which) => `Mark ${which} as reviewed?`,
    submit: "Mark as reviewed",
    action: review,
    statuses: ["new"],
  },
  resolve: {
    label: "Resolve",
    title: (which) => `Resolve ${which}?`,
    submit: "Resolve",
    action: resolve,
    statuses: ["new", "reviewed"],
  },
} as const satisfies Record<
  string,
  { title: (which: string) => string; statuses: readonly FeedbackStatus[]; [fact: string]: unknown }
>

export type FeedbackAction = keyof typeof actions

export const actionNames = Object.keys(actions) as FeedbackAction[]

export function textsOf(name: FeedbackAction): { label: string; submit: string } {
  return actions[name]
}

export function isOffered(name: FeedbackAction, { status }: Pick<Subject, "status">): boolean {
  return actions[name].statuses.some((offered) => offered === status)
}

/** @param subjects several only for a change of their status */
export function confirmationOf(
  name: FeedbackAction,
  subjects: readonly [Subject, ...Subject[]],
  requestId: string,
): Confirmation {
  const { title, submit, action } = actions[name]
  const [subject] = subjects
  const isOne = subjects.length === 1
  return {
    title: title(isOne ? "this feedback" : `${subjects.length} pieces of feedback`),
    description: isOne ? (
      <Quoted {...subject} />
    ) : (
      <>
        From <NamedRows names={subjects.map(({ email, message }) => email ?? message.slice(0, 40))} />.
      </>
    ),
    action,
    fields: (
      <>
        {subjects.map(({ id }) => (
          <input key={id} type="hidden" name="id" value={id} />
        ))}
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

function Quoted({ email, rating, message, reply }: Subject) {
  return (
    <>
      <span className="block pb-2 wrap-anywhere">
        {email ? <Untrusted>{email}</Untrusted> : "A customer"} rated {rating} of 5 and wrote:
      </span>
      <Quote>{message}</Quote>
      {reply && (
        <>
          <span className="block py-2">The last reply:</span>
          <Quote>{reply}</Quote>
        </>
      )}
    </>
  )
}

function Quote({ children }: { children: string }) {
  return (
    <span className="block max-h-48 overflow-y-auto border-l-2 border-line pl-3 whitespace-pre-line wrap-anywhere">
      <Untrusted>{children}</Untrusted>
    </span>
  )
}
