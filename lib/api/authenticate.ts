import type { User } from "@/generated/prisma/client"
import type { Owner, OwnerId } from "@/lib/accounts/owner"
import { pool } from "@/lib/postgres/pool"
import { clientAddress } from "@/lib/rate-limit/client-address"
import { consume, type Verdict } from "@/lib/rate-limit/rate-limit"
import { kinds, type Surface } from "@/lib/surfaces"
import { log } from "@/lib/telemetry/log"
import { hashSecret, isWellFormed } from "../keys/secret"
import { holds, type Permission } from "../permissions"
import { singleton } from "../singleton"
import { refuseAs } from "./errors"

export type Caller = { keyId: string; owner: Owner }

type KeyRow = Pick<User, "email" | "name" | "role" | "status"> & {
  id: string
  surface: Surface
  revoked: boolean
  expired: boolean
  unrecorded: boolean
  owner_id: OwnerId
}

// Expiry is checked against the database clock, so a wrong clock on this server cannot accept an expired key.
const findKey = {
  name: "find-key",
  text: `
    SELECT k.id, k.surface, k.revoked_at IS NOT NULL AS revoked,
           coalesce(k.expires_at <= now(), false) AS expired,
           coalesce(k.last_used_at < now() - interval '1 minute', true) AS unrecorded,
           u.id AS owner_id, u.email, u.name, u.role, u.status
    FROM api_keys k JOIN users u ON u.id = k.user_id
    WHERE k.hash = $1`,
}

const recordUse = {
  name: "record-use",
  text: `
    UPDATE api_keys SET last_used_at = now()
    WHERE id = $1 AND coalesce(last_used_at < now() - interval '1 minute', true)`,
}

/** A valid key with its owner, and whether its rate limit allows this request. */
export type Identity = { key: KeyRow; verdict: Verdict }

/**
 * Identifies the caller by the key that it sends, and counts the request. One statement reads the key and its owner on
 * every request; neither is cached.
 * @throws Refusal 400, 401 or, for too many requests without a valid key, 429
 */
export async function identify(headers: Headers): Promise<Identity> {
  const secret = readCredentials(headers)
  if (secret === undefined) return refuseKey()
  const key = isWellFormed(secret) ? await loadKey(secret) : undefined
  if (!key || key.revoked || key.expired) return refuseFailedKey(clientAddress(headers))
  if (key.unrecorded) recordUseLater(key.id)
  return { key, verdict: await consume("key", key.id) }
}

/**
 * Authorizes an identified caller. Checks in this order: rate limit, surface, owner, permission.
 * @throws Refusal 403 or 429
 */
export function authorize({ key, verdict }: Identity, surface: Surface, permission: Permission | undefined): Caller {
  if (!verdict.allowed) {
    refuseAs(
      "rate_limited",
      `This key has reached its limit of ${verdict.limit} requests a minute. Try again in ${verdict.resetSeconds} seconds.`,
      { "Retry-After": String(verdict.resetSeconds) },
    )
  }
  if (key.surface !== surface) {
    refuseAs(
      "wrong_scope",
      `This is ${withArticle(key.surface)} key, for ${kinds[key.surface].api}. ${kinds[surface].api} accepts only keys that begin with ${kinds[surface].prefix}.`,
    )
  }
  if (key.status !== "active") refuseAs("forbidden", `The account of this key's owner is ${key.status}.`)
  if (permission && !holds(key.role, permission)) {
    refuseAs("forbidden", `The key owner lacks the permission ${permission}.`)
  }
  const owner = { id: key.owner_id, email: key.email, name: key.name, role: key.role }
  return { keyId: key.id, owner }
}

/** The key in `Authorization: Bearer` (the scheme is case-insensitive, RFC 9110 section 11.1) or in `x-api-key`. */
function readCredentials(headers: Headers): string | undefined {
  const bearer = /^bearer +(\S+)$/i.exec(headers.get("authorization")?.trim() ?? "")?.[1]
  const plain = headers.get("x-api-key")?.trim() || undefined
  if (bearer !== undefined && plain !== undefined && bearer !== plain) {
    refuseAs("bad_request", "Authorization and x-api-key contain different keys. Send one key, in either header.")
  }
  return bearer ?? plain
}

async function loadKey(secret: string): Promise<KeyRow | undefined> {
  const { rows } = await pool().query<KeyRow>({ ...findKey, values: [hashSecret(secret)] })
  return rows[0]
}

async function refuseFailedKey(address: string): Promise<never> {
  const verdict = await consume("failedKey", address)
  if (verdict.allowed) return refuseKey()
  return refuseAs(
    "rate_limited",
    `Too many requests without a valid key from this address. Try again in ${verdict.resetSeconds} seconds.`,
    { "Retry-After": String(verdict.resetSeconds) },
  )
}

/** The same response for every invalid key, so that it reveals nothing about the key. */
function refuseKey(): never {
  return refuseAs(
    "unauthorized",
    "Send a valid API key, as `Authorization: Bearer <API_KEY>` or in the header `x-api-key`. Keys that are unknown, revoked or expired do not work.",
    { "WWW-Authenticate": "Bearer" },
  )
}

/** Runs in the background: one write at a time per key, and the statement writes at most once a minute. */
function recordUseLater(keyId: string): void {
  const writing = singleton("recording-use", () => new Set<string>())
  if (writing.has(keyId)) return
  writing.add(keyId)
  pool()
    .query({ ...recordUse, values: [keyId] })
    .catch((error: unknown) => {
      log().warn({ keyId, why: String(error) }, "last_use_not_recorded")
    })
    .finally(() => writing.delete(keyId))
}

function withArticle(surface: Surface): string {
  return surface === "admin" ? "an admin" : "a user"
}
