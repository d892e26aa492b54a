import { Link } from "@/components/link"
import { relativeTime } from "@/lib/format-time"
import type { ListedKey } from "@/lib/keys/data"
import { buttonStyle } from "../button"
import { Notice } from "../notice"
import { RevokeFacts } from "./revoke-facts"
import { type RevokeAction, RevokeForm } from "./revoke-form"

/** The confirmation in the page, for browsers without JavaScript. */
export function RevokePanel({
  keyId,
  keys,
  page,
  action,
  now,
}: {
  keyId: string
  keys: readonly ListedKey[]
  page: string
  action: RevokeAction
  now: Date
}) {
  const key = keys.find(({ id }) => id === keyId)
  if (!key) return <Notice tone="warn">There is no such key on this page.</Notice>
  if (key.state === "revoked") {
    return (
      <Notice tone="good" role="status">
        The key “{key.name}” is revoked.{" "}
        <Link href={page} className="underline">
          Back to the list
        </Link>
      </Notice>
    )
  }
  const used = key.lastUsedAt ? relativeTime(key.lastUsedAt, now) : ""
  return (
    <section aria-labelledby="revoke-title" className="grid max-w-xl gap-3 rounded-lg border border-line bg-panel p-5">
      <h2 id="revoke-title" className="text-base font-semibold">
        Revoke this key?
      </h2>
      <p className="text-muted">
        <RevokeFacts {...key} used={used} />
      </p>
      <RevokeForm
        id={key.id}
        action={action}
        cancel={
          <Link href={page} className={buttonStyle()}>
            Cancel
          </Link>
        }
      />
    </section>
  )
}
