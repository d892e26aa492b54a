import type { User } from "@/generated/prisma/client"
import type { Owner, OwnerId } from "@/lib/authority/owner"
import { usageDays } from "@/lib/keys/choices"
import type { Scope } from "@/lib/keys/scopes"
import { hashSecret, isWellFormed } from "@/lib/keys/secret"
import { holds, type Permission } from "@/lib/permissions"
import { pool } from "@/lib/platform/postgres/pool"
import { clientAddress, wholeClientAddress } from "@/lib/platform/rate-limit/client-address"
import { isWithin } from "@/lib/platform/rate-limit/ip-address"
import { consume, type Verdict } from "@/lib/platform/rate-limit/rate-limit"
import { log } from "@/lib/platform/telemetry/log"
import { singleton } from "@/lib/singleton"
import { kinds, type Surface } from "@/lib/surfaces"
import type { Endpoint } from "./endpoint"
import { refuseAs } from "./errors"

/** What an endpoint requires of its caller. */
export type Access = Pick<Endpoint, "surface" | "permission" | "scope">

/** An owner and their key: what every endpoint knows of its caller. */
export type Caller = { key: LiveKey; owner: Owner; verdict: Verdict }

/** A key that is neither revoked nor expired, with what limits it. */
type LiveKey = {
  id: string
  surface: Surface
  /** What the key may do; `null`: everything that its owner may. */
  scopes: readonly string[] | null
  /** The networks that may use the key; `null`: all. */
  allowed_cidrs: readonly string[] | null
  requests_per_minute: number | null
  has_spend_limit: boolean
  /** When the key ends because another one has replaced it. */
  replaced_until: Date | null
}

type KeyRow = LiveKey &
  Pick<User, "email" | "name" | "role" | "status"> & {
    revoked: boolean
    expired: boolean
    /** Ended so long ago that what was done with it is no longer kept. */
    long_ended: boolean
    unrecorded: boolean
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

/**
 * Finds the key that a caller sends, even one that has ended. One statement reads the key, its limits and its owner on
 * every request; nothing is cached.
 * @throws Refusal 400 or 401 for credentials that cannot be a key
 */
export async function findKeyIn(headers: Headers): Promise<KeyRow | undefined> {
  const secret = readCredentials(headers)
  if (secret === undefined) return refuseCredentials()
  if (!isWellFormed(secret)) return undefined
  const { rows } = await pool().query<KeyRow>({ ...findKey, values: [hashSecret(secret)] })
  return rows[0]
}

/**
 * Refuses a key that is unknown, revoked or expired, always in the same way.
 * @throws Refusal 401 or, for too many requests without a valid key, 429
 */
export async function refuseKey(headers: Headers): Promise<never> {
  await countFailure(clientAddress(headers), "without a valid key")
  return refuseCredentials()
}

/**
 * Counts a request with a key. One from an address that may not use the key counts against the address instead, so that
 * nobody else uses up the key's limit.
 * @throws Refusal 403 or 429 for such an address
 */
export async function countRequest(key: KeyRow, headers: Headers): Promise<Verdict> {
  await requireAddress(key, headers)
  if (key.unrecorded) recordUseLater(key)
  return consume("key", key.id, key.requests_per_minute ?? undefined)
}

/**
 * Authorizes an identified caller. Checks in this order: rate limit, surface, owner, permission, scope.
 * @throws Refusal 403 or 429
 */
export function authorize(key: KeyRow, verdict: Verdict, { surface, permission, scope }: Access): Caller {
  if (!verdict.allowed) {
    refuseAs(
      "rate_limited",
      `This key has reached its limit of ${verdict.limit} requests per minute. Try again in ${verdict.resetSeconds} seconds.`,
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
  const owner = { id: key.owner_id, email: key.email, name: key.name, role: key.role }
  if (permission) requireRole(owner, permission)
  if (scope) requireScope(key, scope)
  return { key, owner, verdict }
}

/**
 * Authorizes a caller again whose response takes longer: reads the key and its owner anew, without counting a request.
 * @throws Refusal 401 or 403
 */
export async function authorizeAgain(headers: Headers, { verdict }: Caller, access: Access): Promise<Caller> {
  const key = await findKeyIn(headers)
  if (!key || key.revoked || key.expired) return refuseCredentials()
  await requireAddress(key, headers)
  return authorize(key, verdict, access)
}

/**
 * Requires a permission of a caller that is authorized for the endpoint, and the scope of the same name.
 * @throws Refusal 403
 */
export function requireCallerPermission({ owner, key }: Caller, permission: Permission): void {
  requireRole(owner, permission)
  requireScope(key, permission)
}

function requireRole({ role }: Owner, permission: Permission): void {
  if (!holds(role, permission)) refuseAs("forbidden", `The key owner lacks the permission ${permission}.`)
}

function requireScope({ scopes }: LiveKey, scope: Scope): void {
  if (scopes && !scopes.includes(scope)) {
    refuseAs("missing_scope", `This key lacks the scope ${scope}. It has: ${scopes.join(", ")}.`)
  }
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

async function requireAddress({ allowed_cidrs: allowed }: LiveKey, headers: Headers): Promise<void> {
  if (!allowed) return
  const address = wholeClientAddress(headers)
  if (!address || !isWithin(address, allowed)) await refuseAddress(address, clientAddress(headers))
}

async function refuseAddress(address: string | undefined, client: string): Promise<never> {
  await countFailure(client, "with a key that it may not use")
  return refuseAs(
    "address_not_allowed",
    `This key does not work from ${address ?? "an unknown address"}: its owner has limited it to other addresses.`,
  )
}

async function countFailure(client: string, what: string): Promise<void> {
  const verdict = await consume("failedKey", client)
  if (verdict.allowed) return
  refuseAs(
    "rate_limited",
    `Too many requests ${what} from this address. Try again in ${verdict.resetSeconds} seconds.`,
    { "Retry-After": String(verdict.resetSeconds) },
  )
}

/** The same response for every invalid key, so that it reveals nothing about the key. */
function refuseCredentials(): never {
  return refuseAs(
    "unauthorized",
    "Send a valid API key, as `Authorization: Bearer <API_KEY>` or in the header `x-api-key`. Keys that are unknown, revoked or expired do not work.",
    { "WWW-Authenticate": "Bearer" },
  )
}

/** Runs in the background: one write at a time per key, and the statement writes at most once a minute. */
function recordUseLater({ id: keyId, owner_id: owner }: KeyRow): void {
  const writing = singleton("recording-use", () => new Set<string>())
  if (writing.has(keyId)) return
  writing.add(keyId)
  pool()
    .query({ ...recordUse, values: [keyId, owner] })
    .catch((error: unknown) => {
      log().warn({ keyId, why: String(error) }, "last_use_not_recorded")
    })
    .finally(() => writing.delete(keyId))
}

function withArticle(surface: Surface): string {
  return surface === "admin" ? "an admin" : "a user"
}
