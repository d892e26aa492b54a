import type { ApiKey, Prisma, User } from "@/generated/prisma/client"
import { exceeds } from "@/lib/authority/authority"
import type { Owner } from "@/lib/authority/owner"
import { findSpending, type Spending } from "@/lib/credits/spending"
import { holds, roleNames } from "@/lib/permissions"
import { db } from "@/lib/platform/postgres/prisma"
import { search, type Term } from "@/lib/platform/postgres/search"
import { isUuid } from "@/lib/platform/schemas/text"
import { plainPunctuation } from "@/lib/platform/text/typed-punctuation"
import { kinds, type Surface } from "@/lib/surfaces"
import type { RevocationReason } from "./choices"
import { assessUse, findUsualUse, type Predecessor, type UsualUse } from "./predecessor"

export type ListedKey = KeyLimits & {
  id: string
  surface: Surface
  name: string
  start: string
  state: KeyState
  createdAt: Date
  lastUsedAt: Date | null
  expiresAt: Date | null
  revokedAt: Date | null
  revocationReason: RevocationReason | null
  isReplaced: boolean
  predecessor: Predecessor | null
  owner: Pick<User, "id" | "email" | "role" | "status">
}

/** `null` is no limit. */
export type KeyLimits = {
  scopes: string[] | null
  addresses: string[] | null
  requestsPerMinute: number | null
  spending: Spending | null
}

type KeyState = "active" | "expired" | "revoked"

export function managesAll(surface: Surface, { role }: Pick<Owner, "role">): boolean {
  const { managingAll } = kinds[surface]
  return managingAll !== null && holds(role, managingAll)
}

/** With `managesAll`, also the keys of accounts that hold no permission that the viewer lacks. */
export function keysWithin(surface: Surface, viewer: Pick<Owner, "id" | "role">): Prisma.ApiKeyWhereInput {
  const own = { userId: viewer.id }
  if (!managesAll(surface, viewer)) return { surface, ...own }
  const beyond = roleNames.filter((role) => exceeds(role, viewer.role))
  return { surface, OR: [own, { user: { role: { notIn: beyond } } }] }
}

export function listKeys(surface: Surface, viewer: Owner): Promise<ListedKey[]> {
  return list(keysWithin(surface, viewer))
}

const anyKey = /^(api )?keys?$/i

/** The keys whose pages the viewer may open, with the keys of customers last. */
export async function findKeysByText(term: Term, viewer: Owner, limit: number) {
  const mayIssue = holds(viewer.role, kinds.admin.issuePermission)
  const few = [keysWithin("user", viewer), ...(mayIssue ? [keysWithin("admin", viewer)] : [])]
  const found = await firstKeys({ AND: [{ OR: few }, matching(term, viewer)] }, limit)
  const left = limit - found.length
  if (!mayIssue || !readsCustomerKeys(viewer.role) || left === 0) return found
  // There may be millions, so an index finds them: none if too many match.
  const ids = (await search({ table: "api_keys", text: "name", start: "start" }, term)) ?? []
  return [...found, ...(await firstKeys({ surface: "user", userId: { not: viewer.id }, id: { in: ids } }, left))]
}

function firstKeys(where: Prisma.ApiKeyWhereInput, limit: number) {
  return db().apiKey.findMany({
    where,
    orderBy: [
      { revokedAt: { sort: "desc", nulls: "first" } },
      { lastUsedAt: { sort: "desc", nulls: "last" } },
      { createdAt: "desc" },
    ],
    omit: { hash: true },
    include: { user: { select: { email: true, role: true, status: true } } },
    take: limit,
  })
}

/** A name may have any punctuation in place of the typed one; "key" finds the viewer's own keys, too. */
function matching({ kind, value }: Term, viewer: Owner): Prisma.ApiKeyWhereInput {
  if (kind === "id") return { id: value }
  // Prisma passes the wildcards of LIKE on.
  const literal = value.replace(/[\\%_]/g, "\\$&")
  if (kind === "key") return { start: { startsWith: literal } }
  const named = plainPunctuation(literal).replace(/['"-]/g, "_").replaceAll(" ", "_%")
  const own = anyKey.test(value) ? [{ userId: viewer.id }] : []
  return { OR: [{ name: { contains: named, mode: "insensitive" } }, ...own] }
}

export type NamedKey = Pick<ListedKey, "id" | "name" | "start"> & { page: string | undefined }

export async function ownKeys(viewer: Owner): Promise<NamedKey[]> {
  const keys = await db().apiKey.findMany({
    where: { userId: viewer.id },
    orderBy: [{ createdAt: "desc" }, { id: "desc" }],
    select: { id: true, name: true, start: true, surface: true },
    take: 1000,
  })
  return keys.map(({ surface, ...key }) => {
    const page = surface === "user" ? `${kinds.user.page}/${key.id}` : consolePageOf({ id: key.id, surface }, viewer)
    return { ...key, page }
  })
}

/** The caller has checked that the viewer may read accounts. */
export function listKeysOf(userId: string, viewer: Owner): Promise<ListedKey[]> {
  const seen = managesAll("admin", viewer) ? [keysWithin("admin", viewer)] : []
  return list({ userId, OR: [{ surface: "user" }, ...seen] })
}

export async function findKey(surface: Surface, viewer: Owner, id: string): Promise<ListedKey | null> {
  const [key] = await list({ AND: [{ id }, keysWithin(surface, viewer)] })
  return key ?? null
}

/** The caller has checked that the viewer may issue admin keys. */
export async function findKeyInConsole(viewer: Owner, id: string): Promise<ListedKey | null> {
  const [key] = await list({ id, OR: keysInConsole(viewer) })
  return key ?? null
}

function keysInConsole(viewer: Owner): Prisma.ApiKeyWhereInput[] {
  const ofCustomers = readsCustomerKeys(viewer.role) ? [{ surface: "user" as const }] : []
  return [keysWithin("admin", viewer), ...ofCustomers]
}

export async function namedKeys(
  ids: readonly string[],
  viewer: Owner,
): Promise<Map<string, NamedKey & { page: string }>> {
  const keys = await db().apiKey.findMany({
    where: { id: { in: ids.filter(isUuid) }, OR: keysInConsole(viewer) },
    select: { id: true, surface: true, name: true, start: true },
  })
  return new Map(
    keys.flatMap(({ id, surface, name, start }) => {
      const page = consolePageOf({ id, surface }, viewer)
      return page ? [[id, { id, name, start, page }] as const] : []
    }),
  )
}

export function consolePageOf({ id, surface }: Pick<ListedKey, "id" | "surface">, { role }: Owner): string | undefined {
  const isOpen = holds(role, kinds.admin.issuePermission) && (surface === "admin" || readsCustomerKeys(role))
  return isOpen ? `${kinds.admin.page}/${id}` : undefined
}

/** The use of a key concerns both the account and the log of requests. */
function readsCustomerKeys(role: string): boolean {
  return holds(role, "users.read") && holds(role, "audit.read")
}

/** The database clock determines expiry, as on every request with a key. */
async function list(where: Prisma.ApiKeyWhereInput): Promise<ListedKey[]> {
  const [clock, keys] = await db().$transaction([
    db().$queryRaw<[{ now: Date }]>`SELECT now()`,
    db().apiKey.findMany({
      where,
      orderBy: [{ revokedAt: { sort: "desc", nulls: "first" } }, { createdAt: "desc" }, { id: "desc" }],
      omit: { hash: true },
      include: {
        user: { select: { id: true, email: true, role: true, status: true } },
        predecessors: { omit: { hash: true } },
      },
      take: 1000,
    }),
  ])
  const { now } = clock[0]
  const limited = keys.filter(({ spendLimit }) => spendLimit !== null)
  const replaced = keys.flatMap(({ predecessors }) => predecessors.filter((key) => stateOf(key, now) === "active"))
  const [spending, usual] = await Promise.all([
    findSpending(limited.map(({ id }) => id)),
    findUsualUse(replaced.map(({ id }) => id)),
  ])
  return keys.map(({ user, predecessors: [predecessor], ...key }) => ({
    ...pick(key),
    ...limitsOf(key),
    spending: spending.get(key.id) ?? null,
    owner: user,
    state: stateOf(key, now),
    isReplaced: key.successorId !== null,
    predecessor: predecessor ? predecessorOf(predecessor, key, usual.get(predecessor.id), now) : null,
  }))
}

type Row = Omit<ApiKey, "hash">

function pick({ id, surface, name, start, createdAt, lastUsedAt, expiresAt, revokedAt, revocationReason }: Row) {
  return { id, surface, name, start, createdAt, lastUsedAt, expiresAt, revokedAt, revocationReason }
}

/** Prisma reads NULL as an empty list, which a key cannot have. */
export function limitsOf({ scopes, allowedCidrs, requestsPerMinute }: Row): Omit<KeyLimits, "spending"> {
  const orNull = (list: string[]) => (list.length > 0 ? list : null)
  return { scopes: orNull(scopes), addresses: orNull(allowedCidrs), requestsPerMinute }
}

export function stateOf({ revokedAt, expiresAt }: Pick<Row, "revokedAt" | "expiresAt">, now: Date): KeyState {
  if (revokedAt) return "revoked"
  return expiresAt && expiresAt <= now ? "expired" : "active"
}

function predecessorOf(key: Row, successor: Row, usual: UsualUse | undefined, now: Date): Predecessor | null {
  const { id, start, lastUsedAt, expiresAt } = key
  if (stateOf(key, now) !== "active" || !expiresAt) return null
  return { id, start, lastUsedAt, expiresAt, use: assessUse(key, successor, usual, now) }
}
