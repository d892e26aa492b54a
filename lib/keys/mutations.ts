import { z } from "zod"
import { Prisma } from "@/generated/prisma/client"
import { asManager, type OutOfReach } from "@/lib/accounts/mutations"
import { audit } from "@/lib/audit/entries"
import { idIn, lockViewer } from "@/lib/authority/authority"
import type { Owner, OwnerId } from "@/lib/authority/owner"
import { db, type Transaction } from "@/lib/platform/postgres/prisma"
import { consume } from "@/lib/platform/rate-limit/rate-limit"
import { optional, requestId } from "@/lib/platform/schemas/form-fields"
import { plainText } from "@/lib/platform/schemas/text"
import type { Viewer } from "@/lib/sign-in/session-rows"
import type { Surface } from "@/lib/surfaces"
import { expiryChoices, expiryOf, type RevocationReason, usageDays } from "./choices"
import { keysWithin } from "./data"
import { type LimitForm, limitColumns, limitFields, scopesField, spendingLimitFields } from "./limit-fields"
import type { Scope } from "./scopes"
import { hashSecret, newSecret, startOf } from "./secret"

/** Per owner and surface. */
export const maxLiveKeys = 25

/** Per owner: keys that work, or ended so recently that their usage is kept. */
export const maxKeys = 1_000

export const keyName = plainText({ name: "Name", max: 80 })

const newKeyFields = {
  requestId,
  name: keyName,
  expires: z.enum(expiryChoices, { error: "Choose when the key expires." }),
  date: optional(z.iso.date("Choose a date, or one of the lifetimes.")),
  scopes: scopesField,
}

/** If `expires` is `date`, the field `date` is the key's last day. */
export const newKeyForms = {
  admin: z.strictObject({ ...newKeyFields, ...limitFields.shape }),
  user: z.strictObject({ ...newKeyFields, ...spendingLimitFields.shape }),
} as const satisfies Record<Surface, z.ZodObject>

export type NewKey = Omit<z.output<(typeof newKeyForms)["admin"]>, keyof LimitForm> & LimitForm

export type IssuedKey = { ok: true; id: string; secret: string; expiresAt: Date | null }

export type NotIssued =
  | { ok: false; reason: "signed_out" | "already_issued" | "too_many_kept" }
  /** Every attempt within the hour counts, regardless of its result. */
  | { ok: false; reason: "too_many_issued"; retryAfterSeconds: number }

type IssueResult = IssuedKey | NotIssued | { ok: false; reason: "too_many_keys" | "bad_date" | "not_offered" }

/** The caller has checked `kinds[surface].issuePermission`. @param offered the scopes that the viewer can give */
export async function issueKey(
  surface: Surface,
  viewer: Viewer,
  form: NewKey,
  offered: readonly Scope[],
): Promise<IssueResult> {
  if (!form.scopes.every((scope) => offered.includes(scope))) return { ok: false, reason: "not_offered" }
  return asIssuer(viewer, form.requestId, async (transaction, now): Promise<IssueResult> => {
    const expiresAt = expiryOf(form, now)
    if (expiresAt === "bad_date") return { ok: false, reason: "bad_date" }
    const live = await transaction.apiKey.count({
      where: { userId: viewer.id, surface, revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] },
    })
    if (live >= maxLiveKeys) return { ok: false, reason: "too_many_keys" }
    const { name, requestId, scopes } = form
    const limits = withoutEmptyLists(limitColumns(form))
    const key = { surface, name, requestId, createdAt: now, expiresAt, scopes, ...limits }
    return createKey(transaction, viewer.id, key)
  })
}

/** The lock of the viewer's account lets concurrent requests see each other's keys. A form issues one key at most. */
export async function asIssuer<Result>(
  viewer: Viewer,
  requestId: string,
  issue: (transaction: Transaction, now: Date) => Promise<Result>,
): Promise<Result | NotIssued> {
  const verdict = await consume("keyCreationsAccount", viewer.id)
  if (!verdict.allowed) return { ok: false, reason: "too_many_issued", retryAfterSeconds: verdict.resetSeconds }
  return db().$transaction(async (transaction): Promise<Result | NotIssued> => {
    if (!(await lockViewer(transaction, viewer))) return { ok: false, reason: "signed_out" }
    const sent = { userId_requestId: { userId: viewer.id, requestId } }
    if (await transaction.apiKey.findUnique({ where: sent })) return { ok: false, reason: "already_issued" }
    const [{ now }] = await transaction.$queryRaw<[{ now: Date }]>`SELECT now() AS now`
    const kept = { gt: new Date(now.getTime() - usageDays * 86_400_000) }
    const isKept = [
      { OR: [{ revokedAt: null }, { revokedAt: kept }] },
      { OR: [{ expiresAt: null }, { expiresAt: kept }] },
    ]
    if ((await transaction.apiKey.count({ where: { userId: viewer.id, AND: isKept } })) >= maxKeys) {
      return { ok: false, reason: "too_many_kept" }
    }
    return issue(transaction, now)
  })
}

type NewColumns = Omit<Prisma.ApiKeyUncheckedCreateInput, "id" | "userId" | "start" | "hash"> & {
  surface: Surface
  createdAt: Date
  expiresAt: Date | null
}

export async function createKey(transaction: Transaction, owner: OwnerId, columns: NewColumns): Promise<IssuedKey> {
  const { surface, expiresAt } = columns
  const secret = newSecret(surface)
  const start = startOf(secret)
  const { id } = await transaction.apiKey.create({
    data: { ...columns, userId: owner, start, hash: hashSecret(secret) },
  })
  const details = { surface, start, expiresAt: expiresAt?.toISOString() ?? null, ...auditedLimits(columns) }
  await audit(transaction, { actorId: owner, action: "api_key.issued", targetType: "api_key", targetId: id, details })
  return { ok: true, id, secret, expiresAt }
}

type LimitColumns = Pick<
  Prisma.ApiKeyUncheckedCreateInput,
  "scopes" | "allowedCidrs" | "requestsPerMinute" | "spendLimit" | "spendPeriod"
>

export function auditedLimits({ scopes, allowedCidrs, requestsPerMinute, spendLimit, spendPeriod }: LimitColumns) {
  return {
    scopes: Array.isArray(scopes) && scopes.length > 0 ? scopes.join(", ") : null,
    addresses: Array.isArray(allowedCidrs) && allowedCidrs.length > 0 ? allowedCidrs.length : null,
    requestsPerMinute: requestsPerMinute ?? null,
    spendLimit: spendLimit == null ? null : Number(spendLimit),
    spendPeriod: spendPeriod ?? null,
  }
}

/** Prisma writes NULL only by omission. */
export function withoutEmptyLists<Columns extends { allowedCidrs: string[]; scopes?: string[] }>(columns: Columns) {
  const isKept = ([, value]: [string, unknown]) => !Array.isArray(value) || value.length > 0
  return Object.fromEntries(Object.entries(columns).filter(isKept)) as Partial<Columns>
}

export type RevokedKey = { id: string; surface: Surface; name: string; start: string; ownerId: string }

type NamedKey = { id: string; name: string }

type RevokeResult =
  | {
      ok: true
      /** The keys of the form, whether it revoked them or they were revoked before. */
      keys: [NamedKey, ...NamedKey[]]
      revoked: { owner: { id: string; email: string }; keys: RevokedKey[] }[]
    }
  | { ok: false; reason: "not_found" }

/** With `replaced`, the keys that they replaced are revoked too, if those still work. */
export async function revokeKeys(
  surface: Surface,
  viewer: Owner,
  { ids, reason, replaced = "" }: { ids: readonly string[]; reason: RevocationReason; replaced?: string },
): Promise<RevokeResult> {
  return db().$transaction(async (transaction): Promise<RevokeResult> => {
    const found = await transaction.apiKey.findMany({
      where: { id: { in: [...ids] }, ...keysWithin(surface, viewer) },
      select: { id: true, name: true, user: { select: { id: true, email: true } } },
    })
    const [first, ...others] = found.map(({ id, name }) => ({ id, name }))
    if (!first) return { ok: false, reason: "not_found" }
    const keyIds = found.map(({ id }) => id)
    const which = replaced
      ? Prisma.sql`(${idIn(...keyIds)} OR successor_id = ANY (${keyIds}::uuid[]) AND ${notExpired})`
      : idIn(...keyIds)
    const owners = new Map(found.map(({ user }) => [user.id, user]))
    const keys = await revoke(transaction, viewer.id, [...owners.keys()], which, reason)
    const revoked = [...owners.values()].flatMap((owner) => {
      const own = keys.filter(({ ownerId }) => ownerId === owner.id)
      return own.length > 0 ? [{ owner, keys: own }] : []
    })
    return { ok: true, keys: [first, ...others], revoked }
  })
}

export type AccountRevocation =
  | { ok: true; owner: { id: string; email: string }; keys: RevokedKey[] }
  | { ok: false; reason: "no_such_key" }
  | OutOfReach

export const notExpired = Prisma.sql`(expires_at IS NULL OR expires_at > now())`

export function revokeKeysOf(
  actorId: OwnerId,
  userId: string,
  reason: RevocationReason,
  which = notExpired,
): Promise<AccountRevocation> {
  return asManager(actorId, userId, async (transaction, { target: owner }): Promise<AccountRevocation> => {
    return { ok: true, owner, keys: await revoke(transaction, actorId, [userId], which, reason) }
  })
}

export async function revokeKeyOfAccount(
  actorId: OwnerId,
  { id, reason }: { id: string; reason: RevocationReason },
): Promise<AccountRevocation> {
  const key = await db().apiKey.findUnique({ where: { id } })
  if (!key) return { ok: false, reason: "no_such_key" }
  return revokeKeysOf(actorId, key.userId, reason, Prisma.sql`id = ${id}::uuid`)
}

/** @param actorId `null` if no signed-in account does it; then `via` names the cause */
export async function revoke(
  transaction: Transaction,
  actorId: OwnerId | null,
  ownerIds: readonly string[],
  which: Prisma.Sql,
  reason: RevocationReason,
  via: { via?: string } = {},
): Promise<RevokedKey[]> {
  // In the order of ids, so that nothing can deadlock.
  const keys = await transaction.$queryRaw<RevokedKey[]>(Prisma.sql`
    UPDATE api_keys SET revoked_at = now(), revoked_by_id = ${actorId}::uuid,
      revocation_reason = ${reason}::revocation_reason
    WHERE id IN (
      SELECT id FROM api_keys WHERE user_id = ANY (${ownerIds}::uuid[]) AND revoked_at IS NULL AND ${which}
      ORDER BY id FOR NO KEY UPDATE)
    RETURNING id, surface::text AS surface, name, start, user_id AS "ownerId"`)
  const about = { actorId, action: "api_key.revoked", targetType: "api_key" } as const
  await audit(
    transaction,
    ...keys.map(({ id, surface, start, ownerId }) => ({
      ...about,
      targetId: id,
      details: { surface, start, ownerId, reason, ...via },
    })),
  )
  return keys
}
