import type { Owner } from "@/lib/authority/owner"
import { type CallingKey, findCallingKey, recordUseLater } from "@/lib/keys/calling-key"
import type { Scope } from "@/lib/keys/scopes"
import { isWellFormed } from "@/lib/keys/secret"
import { holds, type Permission } from "@/lib/permissions"
import { clientAddress, wholeClientAddress } from "@/lib/platform/rate-limit/client-address"
import { isWithin } from "@/lib/platform/rate-limit/ip-address"
import { consume, type Verdict } from "@/lib/platform/rate-limit/rate-limit"
import { kinds, type Surface } from "@/lib/surfaces"
import { refuseAs } from "./errors"
import { ours, type Said, said } from "./said"

export type Access = {
  readonly surface: Surface
  readonly permission: Permission | undefined
  readonly scope: Scope | undefined
}

export type Caller = { key: CallingKey; owner: Owner; verdict: Verdict }

/** Also finds an ended key. @throws Refusal 400 or 401 for credentials that cannot be a key */
export async function findKeyIn(headers: Headers): Promise<CallingKey | undefined> {
  const [secret, other] = credentialsIn(headers)
  if (secret === undefined) return refuseCredentials()
  if (other !== undefined) {
    refuseAs("bad_request", said`Authorization and x-api-key contain different keys. Send one key, in either header.`)
  }
  return isWellFormed(secret) ? findCallingKey(secret) : undefined
}

/** Whether there is one, which could exist. */
export function isWithKey(headers: Headers): boolean {
  const [secret, other] = credentialsIn(headers)
  return secret !== undefined && other === undefined && isWellFormed(secret)
}

/** @throws Refusal 401, or 429 after too many such requests */
export async function refuseKey(headers: Headers): Promise<never> {
  await countFailure(clientAddress(headers), "without a valid key")
  return refuseCredentials()
}

/**
 * A request from an address that may not use the key counts against the address, so it cannot use up the key's limit.
 * @throws Refusal 403 or 429 for such an address
 */
export async function countRequest(key: CallingKey, headers: Headers): Promise<Verdict> {
  await requireAddress(key, headers)
  if (key.unrecorded) recordUseLater(key)
  return consume("key", key.id, key.requests_per_minute ?? undefined)
}

/** Checks in this order: rate limit, surface, owner, permission, scope. @throws Refusal 403 or 429 */
export function authorize(key: CallingKey, verdict: Verdict, { surface, permission, scope }: Access): Caller {
  refuseOverLimit(verdict)
  if (key.surface !== surface) {
    refuseAs(
      "wrong_scope",
      said`This is ${ours(key.surface === "admin" ? "an admin" : "a user")} key, for ${ours(kinds[key.surface].api)}. ${ours(kinds[surface].api)} accepts only keys that begin with ${ours(kinds[surface].prefix)}.`,
    )
  }
  if (key.status !== "active") refuseAs("forbidden", said`The account of this key's owner is ${key.status}.`)
  const owner = { id: key.owner_id, email: key.email, name: key.name, role: key.role }
  if (permission) requireRole(owner, permission)
  if (scope) requireScope(key, scope)
  return { key, owner, verdict }
}

/** @throws Refusal 429 */
export function refuseOverLimit(verdict: Verdict): void {
  if (verdict.allowed) return
  refuseRate(said`This key has reached its limit of ${verdict.limit} requests per minute.`, verdict)
}

/** Whether `authorize` lets a key of the surface pass. */
export function permits({ key, owner }: Caller, { permission, scope }: Omit<Access, "surface">): boolean {
  return (!permission || holds(owner.role, permission)) && (!scope || !key.scopes || key.scopes.includes(scope))
}

/** Counts no request: for a response that takes longer. @throws Refusal 401 or 403 */
export async function authorizeAgain(headers: Headers, { verdict }: Caller, access: Access): Promise<Caller> {
  const key = await findKeyIn(headers)
  if (!key || key.revoked || key.expired) return refuseCredentials()
  await requireAddress(key, headers)
  return authorize(key, verdict, access)
}

/** @throws Refusal 403 */
export function requireCallerPermission({ owner, key }: Caller, permission: Permission): void {
  requireRole(owner, permission)
  requireScope(key, permission)
}

function requireRole({ role }: Owner, permission: Permission): void {
  if (!holds(role, permission)) refuseAs("forbidden", said`The key owner lacks the permission ${permission}.`)
}

function requireScope({ scopes }: CallingKey, scope: Scope): void {
  if (scopes && !scopes.includes(scope)) {
    refuseAs("missing_scope", said`This key lacks the scope ${scope}. It has: ${ours(scopes.join(", "))}.`)
  }
}

/** The scheme is case-insensitive (RFC 9110, section 11.1). */
function credentialsIn(headers: Headers): (string | undefined)[] {
  const bearer = /^bearer +(\S+)$/i.exec(headers.get("authorization")?.trim() ?? "")?.[1]
  const plain = headers.get("x-api-key")?.trim() || undefined
  return bearer !== undefined && plain !== undefined && bearer !== plain ? [bearer, plain] : [bearer ?? plain]
}

async function requireAddress({ allowed_cidrs: allowed }: CallingKey, headers: Headers): Promise<void> {
  if (!allowed) return
  const address = wholeClientAddress(headers)
  if (address && isWithin(address, allowed)) return
  await countFailure(clientAddress(headers), "with a key that it may not use")
  refuseAs(
    "address_not_allowed",
    said`This key does not work from ${ours(address ?? "an unknown address")}: its owner has limited it to other addresses.`,
  )
}

async function countFailure(client: string, what: string): Promise<void> {
  const verdict = await consume("failedKey", client)
  if (!verdict.allowed) refuseRate(said`Too many requests ${ours(what)} from this address.`, verdict)
}

function refuseRate(why: Said, { resetSeconds }: Verdict): never {
  const message = said`${why} Try again in ${resetSeconds} seconds.`
  return refuseAs("rate_limited", message, { "Retry-After": String(resetSeconds) })
}

/** The same response for every invalid key, so that it reveals nothing about the key. */
function refuseCredentials(): never {
  return refuseAs(
    "unauthorized",
    said`Send a valid API key, as \`Authorization: Bearer <API_KEY>\` or in the header \`x-api-key\`. Keys that are unknown, revoked or expired do not work.`,
    { "WWW-Authenticate": "Bearer" },
  )
}
