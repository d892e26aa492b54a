import type { ReactElement } from "react"
import type { Confirmation } from "@/components/confirm/confirm-form"
import { CheckboxesField, RequestId, SelectField, TextField } from "@/components/form/fields"
import { NamedRows } from "@/components/list/named-rows"
import { Notice } from "@/components/ui/notice"
import { Untrusted } from "@/components/values/untrusted"
import type { FormAction, Message } from "@/lib/form/action"
import { graces, preselectedGrace, replacedReason, revocationReasons, settingsText } from "@/lib/keys/choices"
import type { ListedKey } from "@/lib/keys/data"
import { absoluteTime, relativeTime } from "@/lib/platform/text/format-time"
import type { CreateAction, Creation, ShownWithKey } from "./key-creation"
import { LimitFields, type LimitRules, type Limits } from "./limit-fields"

/** The keys are also the names of the buttons and of the query parameters. */
export const rowActionLabels = { rotate: "Rotate", change: "Edit", revoke: "Revoke" } as const

type RowAction = keyof typeof rowActionLabels

export const rowActions = Object.keys(rowActionLabels) as RowAction[]

export type RowServerActions = {
  rotate: CreateAction
  change: FormAction<string, string>
  revoke: FormAction<"id" | "reason" | "replaced", Message>
}

export type RowForms = Pick<RowServerActions, "revoke"> & {
  own?: OwnForms | undefined
}

type OwnForms = Pick<RowServerActions, "rotate" | "change"> & {
  viewerId: string
  requestId: string
  shown: ShownWithKey
  rules: LimitRules
}

export type RowKey = {
  id: string
  name: string
  start: string
  used: string
  predecessorUntil: string | null
  successor: Pick<RowKey, "start" | "used"> | null
  /** `null` for keys of other accounts, whose addresses are not shown. */
  limits: Limits | null
}

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

export function confirmationOf(
  action: string,
  [key, ...others]: readonly RowKey[],
  { revoke, own }: RowForms,
): Confirmation | undefined {
  if (!key) return undefined
  if (others.length > 0) return action === "revoke" ? revokeAllForm([key, ...others], revoke) : undefined
  if (action === "revoke") return revokeForm(key, revoke)
  if (action === "change" && own && key.limits) return changeForm(key, key.limits, own)
  return undefined
}

export function rotateForm(
  { id, name, start, predecessorUntil }: RowKey,
  { rotate: action, requestId }: OwnForms,
): Creation {
  return {
    title: "Rotate this key?",
    action,
    fields: (
      <>
        <p className="text-muted">
          <strong className="font-semibold text-ink wrap-anywhere">
            <Untrusted>{name}</Untrusted>
          </strong>{" "}
          (<code className="font-mono">{start}…</code>) is replaced by a new key with the same name, permissions, limits
          and lifetime. The new key is shown only once.
        </p>
        {predecessorUntil && (
          <Notice tone="warn">
            The key that this one replaced works until {predecessorUntil}. Until then this key can be rotated only if it
            leaked, which revokes both. Otherwise close this form, and revoke the old key first.
          </Notice>
        )}
        <input type="hidden" name="id" value={id} />
        <RequestId id={requestId} />
        <SelectField
          label="How long the old key keeps working"
          name="grace"
          options={predecessorUntil ? choicesAfterRotation : graceLabels}
          defaultValue={predecessorUntil ? "" : preselectedGrace}
          hint={predecessorUntil ? undefined : "At most until its own expiry."}
        />
      </>
    ),
    submit: "Rotate key",
  }
}

const graceLabels = Object.fromEntries(Object.entries(graces).map(([grace, { label }]) => [grace, label]))

/** Nothing is preselected: while the replaced key works, only a leak is a reason to rotate. */
const choicesAfterRotation = { "": "Choose", leaked: graces.leaked.label }

function changeForm({ id, name, start }: RowKey, limits: Limits, { change: action, rules }: OwnForms): Confirmation {
  const shown = settingsText(name, limits.addresses, limits.requestsPerMinute, limits.spending)
  return {
    title: "Edit this key",
    description: (
      <>
        Changes to <code className="font-mono">{start}…</code> apply from the next request. Its permissions cannot be
        changed: create a new key for other permissions.
      </>
    ),
    action,
    fields: (
      <>
        <input type="hidden" name="id" value={id} />
        <input type="hidden" name="shown" value={shown} />
        <TextField label="Name" name="name" required maxLength={80} autoComplete="off" defaultValue={name} />
        <LimitFields rules={rules} given={limits} />
      </>
    ),
    submit: "Save changes",
    kind: "primary",
  }
}

function revokeForm(
  { id, name, start, used, predecessorUntil, successor }: RowKey,
  action: RowServerActions["revoke"],
): Confirmation {
  return {
    title: "Revoke this key?",
    description: (
      <>
        <strong className="font-semibold text-ink wrap-anywhere">
          <Untrusted>{name}</Untrusted>
        </strong>{" "}
        (<code className="font-mono">{start}…</code>) {inUse(used)}{" "}
        {successor && (
          <>
            The key that replaced it, <code className="font-mono">{successor.start}…</code>, {inUse(
              successor.used,
            )}{" "}
          </>
        )}
        From now on, every request with this key is rejected. This cannot be undone.
      </>
    ),
    action,
    fields: (
      <>
        <input type="hidden" name="id" value={id} />
        <RevocationReasonField isReplaced={successor !== null} />
        {predecessorUntil && (
          <CheckboxesField
            name="replaced"
            label={`The key that it replaced works until ${predecessorUntil}.`}
            options={{ revoke: "Revoke that key, too" }}
          />
        )}
      </>
    ),
    submit: "Revoke key",
    kind: "danger",
  }
}

function revokeAllForm(keys: readonly RowKey[], action: RowServerActions["revoke"]): Confirmation {
  return {
    title: `Revoke these ${keys.length} keys?`,
    description: (
      <>
        <NamedRows names={keys.map(({ name, start }) => `${name} (${start}…)`)} />. From now on, every request with one
        of these keys is rejected. This cannot be undone.
      </>
    ),
    action,
    fields: (
      <>
        {keys.map(({ id }) => (
          <input key={id} type="hidden" name="id" value={id} />
        ))}
        <RevocationReasonField />
        {keys.some(({ predecessorUntil }) => predecessorUntil) && (
          <CheckboxesField
            name="replaced"
            label="Some of them have replaced keys that still work."
            options={{ revoke: "Revoke those keys, too" }}
          />
        )}
      </>
    ),
    submit: `Revoke ${keys.length} keys`,
    kind: "danger",
  }
}

function inUse(used: string): string {
  return used ? `was last used ${used}.` : "was never used."
}

export function RevocationReasonField({ isReplaced = false }: { isReplaced?: boolean }) {
  const options = isReplaced ? { ...revocationReasons, not_needed: replacedReason } : revocationReasons
  return <SelectField label="Reason" name="reason" options={options} defaultValue="not_needed" />
}
