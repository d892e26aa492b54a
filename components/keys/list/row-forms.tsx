import type { ReactElement } from "react"
import type { Confirmation } from "@/components/confirm/confirm-form"
import { Untrusted } from "@/components/untrusted"
import type { ListedKey } from "@/lib/keys/data"
import { absoluteTime, relativeTime } from "@/lib/platform/text/format-time"
import type { CreateAction } from "../create/key-creation"
import type { Shown } from "../create/key-reveal"
import { type ChangeAction, change } from "./change"
import type { LimitRules, Limits } from "./limit-fields"
import { type RevokeAction, revocation } from "./revocation"

/** What the buttons of a row open, with their labels; also the names of the buttons, and of the parameters that open it. */
export const rowActionLabels = { rotate: "Rotate", change: "Edit", revoke: "Revoke" } as const

export type RowAction = keyof typeof rowActionLabels

export const rowActions = Object.keys(rowActionLabels) as RowAction[]

/** The forms of a list of keys. */
export type RowForms = {
  revoke: RevokeAction
  /** The forms for the viewer's own keys. */
  own?: OwnForms | undefined
}

type OwnForms = {
  viewerId: string
  rotate: CreateAction
  requestId: string
  shown: Shown
  change: ChangeAction
  rules: LimitRules
}

/** What the forms show of a key. */
export type RowKey = {
  id: string
  name: string
  start: string
  /** The last use as relative time; empty if the key was never used. */
  used: string
  /** When the key that it replaced stops working, if that one still works. */
  predecessorUntil: string | null
  /** The key that replaced it. */
  successor: Pick<RowKey, "start" | "used"> | null
  /** `null` for the keys of others: their addresses are not shown. */
  limits: Limits | null
}

/** @param keys the keys in the list; one may be the successor of `key` */
export function rowKeyOf(key: ListedKey, keys: readonly ListedKey[], isOwn: boolean, now: Date): RowKey {
  const { id, name, start, predecessor, addresses, requestsPerMinute, spending } = key
  const used = ({ lastUsedAt }: ListedKey) => (lastUsedAt ? relativeTime(lastUsedAt, now) : "")
  const successor = keys.find((other) => other.predecessor?.id === id)
  return {
    id,
    name,
    start,
    used: used(key),
    predecessorUntil: predecessor && absoluteTime(predecessor.expiresAt),
    successor: successor ? { start: successor.start, used: used(successor) } : null,
    limits: isOwn ? { addresses, requestsPerMinute, spending } : null,
  }
}

/** The confirmation that an action opens, if it opens one. */
export function confirmationOf(action: string, key: RowKey, { revoke, own }: RowForms): Confirmation | undefined {
  const { limits } = key
  if (action === "revoke") return revocation(key, revoke)
  if (action === "change" && own && limits) return change({ ...key, limits }, own)
  return undefined
}

/** Why an action is not available for a key; `undefined` if it is. */
export function obstacleTo(action: RowAction, key: ListedKey, isOwn: boolean): ReactElement | undefined {
  const { name, state, isReplaced } = key
  const because = (text: string) => (
    <>
      The key “<Untrusted>{name}</Untrusted>” {text}
    </>
  )
  if (action === "revoke") return state === "revoked" ? because("is already revoked.") : undefined
  if (!isOwn) return because("belongs to another account: you can only revoke it.")
  if (state !== "active") return because("no longer works.")
  return action === "rotate" && isReplaced ? because("was already replaced.") : undefined
}
