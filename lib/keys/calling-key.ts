import type { User } from "@/generated/prisma/client"
import type { OwnerId } from "@/lib/authority/owner"
import { pool } from "@/lib/platform/postgres/pool"
import { log } from "@/lib/platform/telemetry/log"
import { singleton } from "@/lib/singleton"
import type { Surface } from "@/lib/surfaces"
import { usageDays } from "./choices"
import { hashSecret } from "./secret"

export type CallingKey = Pick<User, "email" | "name" | "role" | "status"> & {
  id: string
  surface: Surface
  revoked: boolean
  expired: boolean
  long_ended: boolean
  unrecorded: boolean
  /** `null`: all permissions of its owner. */
  scopes: readonly string[] | null
  /** `null`: all networks. */
  allowed_cidrs: readonly string[] | null
  requests_per_minute: number | null
  has_spend_limit: boolean
  replaced_until: Date | null
  owner_id: OwnerId
}

// Expiry is checked against the database clock, so a wrong clock on this server cannot accept an expired key.
export const findKey = {
  name: "find-key",
  text: `
    SELECT k.id, k.surface, k.revoked_at IS NOT NULL AS revoked,
           coalesce(k.expires_at <= now(), false) AS expired,
           coalesce(least(k.revoked_at, k.expires_at) < now() - interval '${usageDays * 24} hours', false) AS long_ended,
           coalesce(k.last_used_at < now() - interval '1 minute', true) AS unrecorded,
           k.scopes, k.allowed_cidrs, k.requests_per_minute, k.spend_limit IS NOT NULL AS has_spend_limit,
           CASE WHEN k.successor_id IS NOT NULL THEN k.expires_at END AS replaced_until,
           u.id AS owner_id, u.email, u.name, u.role, u.status
    FROM api_keys k JOIN users u ON u.id = k.user_id
    WHERE k.hash = $1`,
}

// ANY, because for an account with one key its index would cost as much as that of the ids, and be chosen.
export const recordUse = {
  name: "record-use",
  text: `
    UPDATE api_keys SET last_used_at = now()
    WHERE id = $1 AND user_id = ANY (ARRAY[$2::uuid]) AND coalesce(last_used_at < now() - interval '1 minute', true)`,
}

/** Every request reads the key, its limits and its owner; nothing is cached. */
export async function findCallingKey(secret: string): Promise<CallingKey | undefined> {
  const { rows } = await pool().query<CallingKey>({ ...findKey, values: [hashSecret(secret)] })
  return rows[0]
}

export function recordUseLater({ id: keyId, owner_id: owner }: CallingKey): void {
  const writing = singleton("recording-use", () => new Set<string>())
  if (writing.has(keyId)) return
  writing.add(keyId)
  pool()
    .query({ ...recordUse, values: [keyId, owner] })
    .catch((error: unknown) => log().warn({ keyId, why: String(error) }, "last_use_not_recorded"))
    .finally(() => writing.delete(keyId))
}
