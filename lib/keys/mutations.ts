import { z } from "zod"
import { Prisma } from "@/generated/prisma/client"
import { lockViewer } from "@/lib/accounts/authority"
import { asManager, type OutOfReach } from "@/lib/accounts/mutations"
import type { Owner, OwnerId } from "@/lib/accounts/owner"
import { optional, requestId } from "@/lib/input/fields"
import { plainText } from "@/lib/input/text"
import { db, type Transaction } from "@/lib/postgres/prisma"
import { consume } from "@/lib/rate-limit/rate-limit"
import type { Viewer } from "@/lib/sign-in/sessions"
import type { Surface } from "@/lib/surfaces"
import { audit } from "../audit"
import { keysWithin } from "./data"
import { expiryChoices, expiryOf } from "./expiry"
import { hashSecret, newSecret, startOf } from "./secret"

/** The maximum number of live keys (neither revoked nor expired) per owner and surface. */
export const maxLiveKeys = 25

/** The new key form. `expires` is a lifetime, `never` or `date`; then the field `date` is the key's last day. */
export const newKeyForm = z.strictObject({
  requestId,
  name: plainText({ name: "Name", max: 80 }),
  expires: z.enum(expiryChoices, { error: "Choose when the key expires." }),
  date: optional(z.iso.date("Choose a date, or one of the lifetimes.")),
})

export type NewKey = z.output<typeof newKeyForm>

export type IssueResult =
  | { ok: true; id: string; secret: string; expiresAt: Date | null }
  | { ok: false; reason: "signed_out" | "too_many_keys" | "already_issued" | "bad_date" }
  /** Every attempt within the hour counts, regardless of its result. */
  | { ok: false; reason: "too_many_issued"; retryAfterSeconds: number }

/**
 * Issues a key to the viewer and returns it; the key itself is not stored. The caller has checked the permission
 * (kinds[surface].issuing).
 */
export async function issueKey(surface: Surface, viewer: Viewer, form: NewKey): Promise<IssueResult> {
  const { id: owner } = viewer
  const verdict = await consume("keyCreationsAccount", owner)
  if (!verdict.allowed) return { ok: false, reason: "too_many_issued", retryAfterSeconds: verdict.resetSeconds }
  return db().$transaction(async (transaction): Promise<IssueResult> => {
    // The lock makes concurrent requests count each other's keys.
    if (!(await lockViewer(transaction, viewer))) return { ok: false, reason: "signed_out" }
    const [{ now }] = await transaction.$queryRaw<[{ now: Date }]>`SELECT now() AS now`
    const expiresAt = expiryOf(form, now)
    if (expiresAt === "bad_date") return { ok: false, reason: "bad_date" }

    const sent = { userId_requestId: { userId: owner, requestId: form.requestId } }
    if (await transaction.apiKey.findUnique({ where: sent })) return { ok: false, reason: "already_issued" }

    const live = await transaction.apiKey.count({
      where: { userId: owner, surface, revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] },
    })
    if (live >= maxLiveKeys) return { ok: false, reason: "too_many_keys" }

    const secret = newSecret(surface)
    const { id } = await transaction.apiKey.create({
      data: {
        userId: owner,
        surface,
        name: form.name,
        start: startOf(secret),
        hash: hashSecret(secret),
        requestId: form.requestId,
        expiresAt,
      },
    })
    await audit(transaction, {
      actorId: owner,
      action: "api_key.issued",
      targetType: "api_key",
      targetId: id,
      details: { surface, start: startOf(secret), expiresAt: expiresAt?.toISOString() ?? null },
    })
    return { ok: true, id, secret, expiresAt }
  })
}

export type RevokedKey = { id: string; surface: Surface; name: string; start: string }

export type RevokeResult =
  /** `repeated`: the key was already revoked. */
  | { ok: true; repeated: boolean; key: { name: string; start: string; owner: { id: string; email: string } } }
  | { ok: false; reason: "not_found" }

/** Revokes a key that the viewer's page shows; revoking it again changes nothing. */
export async function revokeKey(surface: Surface, viewer: Owner, id: string): Promise<RevokeResult> {
  return db().$transaction(async (transaction): Promise<RevokeResult> => {
    const key = await transaction.apiKey.findFirst({
      where: { id, ...keysWithin(surface, viewer) },
      include: { user: { select: { id: true, email: true } } },
    })
    if (!key) return { ok: false, reason: "not_found" }
    const { name, start, user: owner } = key
    const revoked = await revoke(transaction, viewer.id, owner.id, Prisma.sql`id = ${id}::uuid`)
    return { ok: true, repeated: revoked.length === 0, key: { name, start, owner } }
  })
}

export type AccountRevocation =
  | { ok: true; owner: { id: string; email: string }; keys: RevokedKey[] }
  | { ok: false; reason: "no_such_key" }
  | OutOfReach

/** Revokes all keys of an account that work, on both surfaces, or the one given; by an account that manages it. */
export function revokeKeysOf(
  actorId: OwnerId,
  userId: string,
  which = Prisma.sql`(expires_at IS NULL OR expires_at > now())`,
): Promise<AccountRevocation> {
  return asManager(actorId, userId, async (transaction, { target: owner }): Promise<AccountRevocation> => {
    return { ok: true, owner, keys: await revoke(transaction, actorId, userId, which) }
  })
}

/** Revokes a key of either surface, by an account that manages its owner. */
export async function revokeKeyOfAccount(actorId: OwnerId, keyId: string): Promise<AccountRevocation> {
  const key = await db().apiKey.findUnique({ where: { id: keyId } })
  return key ? revokeKeysOf(actorId, key.userId, Prisma.sql`id = ${keyId}::uuid`) : { ok: false, reason: "no_such_key" }
}

/** Revokes those keys of the owner that are not revoked yet, each with an audit entry. */
export async function revoke(
  transaction: Transaction,
  actorId: OwnerId,
  ownerId: string,
  which: Prisma.Sql,
): Promise<RevokedKey[]> {
  const keys = await transaction.$queryRaw<RevokedKey[]>(Prisma.sql`
    UPDATE api_keys SET revoked_at = now(), revoked_by_id = ${actorId}::uuid
    WHERE user_id = ${ownerId}::uuid AND revoked_at IS NULL AND ${which}
    RETURNING id, surface::text AS surface, name, start`)
  for (const { id, surface, start } of keys) {
    const details = { surface, start, ownerId }
    await audit(transaction, { actorId, action: "api_key.revoked", targetType: "api_key", targetId: id, details })
  }
  return keys
}
