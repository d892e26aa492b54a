"use client"

import { type ReactNode, useActionState, useEffect } from "react"
import { Link } from "@/components/link"
import type { RevokeState } from "@/lib/keys/actions"
import { Button } from "../button"
import { Notice } from "../notice"

export type RevokeAction = (previous: RevokeState | null, data: FormData) => Promise<RevokeState>

/** The confirmation form. `cancel` is its second button. */
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
  const [response, send, pending] = useActionState(action, null)

  useEffect(() => {
    if (response?.ok) onRevoked?.()
  }, [response, onRevoked])

  return (
    <form action={send} className="grid gap-4">
      <input type="hidden" name="id" value={id} />
      {response && !response.ok && (
        <Notice tone="bad" role="alert">
          {"message" in response ? response.message : <SignedOut />}
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
