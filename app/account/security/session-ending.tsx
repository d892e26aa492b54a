import type { Confirmation } from "@/components/confirm/confirm-form"
import type { ListedSession } from "@/lib/sign-in/session-rows"
import { endOtherSessions, endSession } from "./actions"

export type EndableSession = Pick<ListedSession, "id" | "browser" | "address">

export const others = "others"

/** A session that has just ended is no longer among `sessions`. */
export function sessionEnding(value: string, sessions: readonly EndableSession[]): Confirmation {
  if (value === others) {
    return {
      title: "Sign out all other browsers?",
      description: "They have to sign in again. API keys keep working.",
      action: endOtherSessions,
      fields: null,
      submit: "Sign out all others",
      kind: "danger",
    }
  }
  const session = sessions.find(({ id }) => id === value)
  return {
    title: "Sign out this browser?",
    description: (
      <>
        <strong className="font-semibold text-ink">{session?.browser ?? "This browser"}</strong>
        {session && ` (${session.address})`} has to sign in again. API keys keep working. If you do not recognize it,
        change your password too.
      </>
    ),
    action: endSession,
    fields: <input type="hidden" name="id" value={value} />,
    submit: "Sign out browser",
    kind: "danger",
  }
}
