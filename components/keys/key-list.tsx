import type { ReactNode } from "react"
import { relativeTime } from "@/lib/format-time"
import type { ListedKey } from "@/lib/keys/data"
import { ConfirmPanel } from "../confirm/confirm-panel"
import { Notice } from "../notice"
import { KeyTable, type Owners } from "./key-table"
import { type RevocableKey, type RevokeAction, revocation } from "./revocation"
import { RevokeButtons } from "./revoke-buttons"

/** A table of keys. Its buttons open dialogs; without JavaScript they open `?revoke=<id>`, which shows the form here. */
export function KeyList({
  keys,
  caption,
  owners = "hidden",
  page,
  revoke,
  selected,
  empty,
}: {
  keys: readonly ListedKey[]
  caption: string
  owners?: Owners
  page: string
  /** Omitted for viewers who may only read the keys. */
  revoke?: RevokeAction | undefined
  /** The value of `revoke` in the query. */
  selected: string | string[] | undefined
  /** Shown when there are no keys. */
  empty: ReactNode
}) {
  const now = new Date()
  if (keys.length === 0) return empty
  const table = <KeyTable keys={keys} caption={caption} owners={owners} revocable={revoke !== undefined} now={now} />
  if (!revoke) return table
  return (
    <>
      {typeof selected === "string" && (
        <RevokePanel selected={keys.find(({ id }) => id === selected)} page={page} action={revoke} now={now} />
      )}
      <RevokeButtons keys={keys.map((key) => revocable(key, now))} action={revoke}>
        {table}
      </RevokeButtons>
    </>
  )
}

function RevokePanel({
  selected,
  page,
  action,
  now,
}: {
  selected: ListedKey | undefined
  page: string
  action: RevokeAction
  now: Date
}) {
  if (!selected) return <Notice tone="warn">There is no such key on this page.</Notice>
  return (
    <ConfirmPanel
      confirmation={revocation(revocable(selected, now), action)}
      unavailable={selected.state === "revoked" && `The key “${selected.name}” is revoked.`}
      page={page}
      back="Back to the list"
    />
  )
}

function revocable({ id, name, start, lastUsedAt }: ListedKey, now: Date): RevocableKey {
  return { id, name, start, used: lastUsedAt ? relativeTime(lastUsedAt, now) : "" }
}
