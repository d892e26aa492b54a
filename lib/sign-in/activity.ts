import { emailsOf } from "@/lib/accounts/addresses"
import type { AuditAction } from "@/lib/audit/entries"
import type { OwnerId } from "@/lib/authority/owner"
import { inCredits } from "@/lib/credits/words"
import { db } from "@/lib/platform/postgres/prisma"
import { type Surface, surfaces } from "@/lib/surfaces"
import * as yours from "@/lib/yours/audit"
import { providerName, signInWords } from "./providers/providers"

export type Activity = {
  id: string
  /** Neither names staff nor quotes their text. */
  sentence: string
  address: string | null
  createdAt: Date
}

type Details = {
  via?: string
  method?: string
  address?: string
  factor?: string
  reason?: string
  from?: string
  to?: string
  moment?: string
  count?: number
  provider?: string
  amount?: number
  at?: string
  pack?: number | null
}

type Found = {
  id: string
  action: AuditAction
  actorId: string | null
  keyName: string | null
  details: Details
  createdAt: Date
}

type Sentence = (entry: { details: Details; key: string; by: string }) => string

type Elsewhere = `waitlist.${string}` | `database.${string}`
/** Credits are in the ledger, refunds in the list of orders, replies arrive by email, and the others are for staff. */
type ForStaff = `${"credits" | "order" | "feedback" | "payment_request"}.${string}` | "user.noted"

const yourSentences = Object.fromEntries(
  Object.entries<string>(yours.actions).map(([action, sentence]): [string, Sentence] => [
    action,
    ({ by }) => sentence + by,
  ]),
) as Record<keyof typeof yours.actions, Sentence>

const sentences: Record<Exclude<AuditAction, Elsewhere | ForStaff>, Sentence> = {
  ...yourSentences,
  "user.signed_up": () => "Account created",
  "user.signed_in": ({ details: { via, factor } }) => `Signed in${wayIn(via, factor)}`,
  "user.sign_in_failed": ({ details: { via, reason } }) => `Sign-in${wayIn(via)} failed: ${failureOf(reason)}`,
  "user.signed_out": () => "Signed out",
  "user.proof_failed": ({ details: { method } }) => `Wrong ${method ?? "proof"} to confirm a change`,
  "user.sessions_ended": ({ details: { count } }) => `Signed out ${count === 1 ? "a browser" : `${count} browsers`}`,
  "user.role_changed": ({ details: { from, to }, by }) => `Role changed from ${from} to ${to}${by}`,
  "user.banned": ({ by }) => `Account banned${by}`,
  "user.unbanned": ({ by }) => `Account unbanned${by}`,
  "user.closed": ({ by }) => `Account closed${by}`,
  "user.renamed": () => "Name changed",
  "user.picture_changed": () => "Picture changed",
  "user.picture_removed": ({ by }) => `Picture removed${by}`,
  "user.address_changed": () => "Email address changed",
  "user.address_restored": () => "Change of email address undone",
  "user.provider_connected": ({ details: { provider = "" } }) => `${providerName(provider)} connected`,
  "user.provider_disconnected": ({ details: { provider = "" } }) => `${providerName(provider)} disconnected`,
  "user.top_up_changed": ({ details: { pack } }) => `Automatic top-up turned ${pack ? "on" : "off"}`,
  "user.exported": () => "Data exported",
  "user.deletion_requested": ({ by }) => `Deletion requested${by}`,
  "user.deletion_undone": ({ by }) => `Deletion undone${by}`,
  "user.erased": () => "Account deleted",
  "user.passkey_added": () => "Passkey added",
  "user.passkey_removed": () => "Passkey removed",
  "user.passkey_refused": () => "Passkey refused: it may have been copied",
  "user.passkey_uncounted": () => "Passkey no longer counts its uses",
  "user.app_added": () => "Authenticator app added",
  "user.app_removed": () => "Authenticator app removed",
  "user.recovery_codes_replaced": () => "New recovery codes created",
  "user.recovery_code_used": () => "Recovery code used",
  "user.factors_reset": ({ by }) => `Two-factor authentication reset${by}`,
  "user.password_changed": () => "Password changed",
  "user.password_reset": ({ by }) => `Password reset${by}`,
  "subscription.canceled": ({ details: { at }, by }) =>
    `Subscription canceled${at === "now" ? "" : " at the end of its period"}${by}`,
  "api_key.issued": ({ key, by }) => `${key} created${by}`,
  "api_key.rotated": ({ key, by }) => `${key} rotated${by}`,
  "api_key.changed": ({ key, by }) => `${key} changed${by}`,
  "api_key.revoked": ({ key, by }) => `${key} revoked${by}`,
}

function keyNamed(name: string | null): string {
  return name === null ? "Admin key" : `Key “${name}”`
}

function wayIn(via: string | undefined, factor?: string): string {
  return via ? ` by ${signInWords(via, factor)}` : ""
}

function failureOf(reason: string | undefined): string {
  if (reason === "second factor") return "wrong second factor"
  return reason === "wrong" ? "wrong password" : "the account was banned"
}

const sentencesForStaff: Record<AuditAction, Sentence> = {
  ...sentences,
  "user.noted": ({ by }) => `Staff note added${by}`,
  "credits.granted": ({ details: { amount = 0 }, by }) => `${inCredits(amount)} granted${by}`,
  "credits.deducted": ({ details: { amount = 0 }, by }) => `${inCredits(amount)} deducted${by}`,
  "order.refunded": ({ by }) => `Order refunded${by}`,
  "order.recorded": ({ by }) => `Purchase recorded${by}`,
  "payment_request.withdrawn": ({ by }) => `Request to the payment provider withdrawn${by}`,
  "feedback.reviewed": ({ by }) => `Feedback reviewed${by}`,
  "feedback.resolved": ({ by }) => `Feedback resolved${by}`,
  "feedback.replied": ({ by }) => `Feedback replied to${by}`,
  "waitlist.invited": ({ by }) => `Invited from the waitlist${by}`,
  "database.restored": ({ details: { moment = "" } }) => `Database restored to ${moment}`,
}

export function sentenceInLog({ action, details }: { action: string; details?: unknown }): string {
  const sentence = Object.hasOwn(sentencesForStaff, action) && sentencesForStaff[action as AuditAction]
  return sentence ? sentence({ details: (details ?? {}) as Details, key: "Key", by: "" }) : action
}

const signIn: AuditAction = "user.signed_in"
const failedSignIn: AuditAction = "user.sign_in_failed"

/**
 * At most 5 are failed sign-ins: anybody can cause them, and would hide all others. Only the 20 keys that were created or
 * revoked last count, so an account with thousands of keys is read as fast.
 * @param named the surfaces whose keys are named
 */
function entriesAbout(
  userId: string,
  actions: readonly string[],
  count: number,
  named: readonly Surface[],
): Promise<Found[]> {
  const others = actions.filter((action) => action !== failedSignIn)
  return db().$queryRaw<Found[]>`
    WITH targets AS (
      SELECT ${userId}::text AS id, NULL AS key_name, ${others}::text[] AS actions, ${count}::int AS entries
      UNION ALL
      SELECT ${userId}::text, NULL, ${[failedSignIn]}::text[], 5
      UNION ALL (
        SELECT id::text, CASE WHEN surface::text = ANY (${named}) THEN name END, ${others}::text[], ${count}::int
        FROM api_keys WHERE user_id = ${userId}::uuid
        ORDER BY greatest(created_at, revoked_at) DESC LIMIT 20))
    SELECT entry.id, action, actor_id AS "actorId", key_name AS "keyName", details, entry.created_at AS "createdAt"
    FROM targets, LATERAL (
      SELECT * FROM audit_entries WHERE target_id = targets.id AND action = ANY (targets.actions)
      ORDER BY created_at DESC, id DESC LIMIT targets.entries) entry
    ORDER BY entry.created_at DESC, entry.id DESC LIMIT ${count}`
}

export async function recentActivity(userId: OwnerId): Promise<Activity[]> {
  const found = await entriesAbout(userId, Object.keys(sentences), 20, surfaces)
  return found.map((entry) => {
    const { id, details, createdAt } = entry
    const sentence = sentences[entry.action as keyof typeof sentences]
    const by = entry.actorId === userId ? " by you" : " by staff"
    return {
      id,
      sentence: sentence({ details, key: keyNamed(entry.keyName), by }),
      address: details.address ?? null,
      createdAt,
    }
  })
}

/**
 * Without the names of admin keys: not every reader of accounts and the audit log may see them. Sign-ins in a row, in the
 * same way and from the same IP address, are one line with the time of the last.
 */
export async function activityForStaff(userId: string): Promise<(Omit<Activity, "address"> & { times: number })[]> {
  const found = await entriesAbout(userId, Object.keys(sentencesForStaff), 50, ["user"])
  const lines: (Found & { times: number })[] = []
  for (const entry of found) {
    const last = lines.at(-1)
    if (last && areSameSignIn(last, entry)) last.times++
    else lines.push({ ...entry, times: 1 })
  }
  const shown = lines.slice(0, 10)
  const staff = await emailsOf(shown.flatMap(({ actorId }) => actorId ?? []))
  return shown.map((entry) => {
    const { id, action, actorId, details, createdAt, times } = entry
    if (times > 1) return { id, sentence: `${times} sign-ins${wayIn(details.via)}`, createdAt, times }
    const actor = actorId === userId ? "the customer" : actorId ? (staff.get(actorId) ?? actorId) : "the system"
    const sentence = sentencesForStaff[action]({ details, key: keyNamed(entry.keyName), by: ` by ${actor}` })
    return { id, sentence, createdAt, times }
  })
}

function areSameSignIn(one: Found, other: Found): boolean {
  const isSame = one.details.via === other.details.via && one.details.address === other.details.address
  return one.action === signIn && other.action === signIn && isSame
}
