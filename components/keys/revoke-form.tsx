"use client"

import { type ReactNode, useActionState, useEffect } from "react"
import { Link } from "@/components/link"
import type { RevokeAnswer } from "@/lib/keys/actions"
import { Button } from "../button"
import { Notice } from "../notice"

export type RevokeAction = (last: RevokeAnswer | null, data: FormData) => Promise<RevokeAnswer>

/** The confirmation. `cancel` is the other button. */
export function RevokeForm({
  id,
  action,
  cancel,
  onRevoked,
}: {
  id: string
  action: RevokeAction
  cancel: ReactNode
  onRevoked?: () => void
}) {
  const [answer, send, pending] = useActionState(action, null)

  useEffect(() => {
    if (answer?.ok) onRevoked?.()
  }, [answer, onRevoked])

  return (
    <form action={send} className="grid gap-4">
      <input type="hidden" name="id" value={id} />
      {answer && !answer.ok && (
        <Notice tone="bad" role="alert">
          {"message" in answer ? answer.message : <SignedOut />}
        </Notice>
      )}
      <div className="flex flex-wrap justify-end gap-2">
        {cancel}
        <Button kind="danger" type="submit" aria-disabled={pending}>
          Revoke key
        </Button>
      </div>
    </form>
  )
}

export function SignedOut() {
  return (
    <>
      You are signed out.{" "}
      <Link href="/sign-in" className="underline">
        Sign in
      </Link>{" "}
      and try again.
    </>
  )
}
