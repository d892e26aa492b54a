import type { Prisma, User } from "@/generated/prisma/client"
import { exceeds } from "@/lib/accounts/authority"
import type { Owner } from "@/lib/accounts/owner"
import { holds, roleNames } from "@/lib/permissions"
import { db } from "@/lib/postgres/prisma"
import { kinds, type Surface } from "@/lib/surfaces"

/** A key as listed; the key itself is not stored anywhere. */
export type ListedKey = {
  id: string
  name: string
  /** The prefix and four random characters. */
  start: string
  state: KeyState
  createdAt: Date
  lastUsedAt: Date | null
  expiresAt: Date | null
  owner: Pick<User, "id" | "email">
}

export type KeyState = "active" | "expired" | "revoked"

/** Whether the viewer's page shows the keys of other accounts. */
export function managesAll(surface: Surface, { role }: Pick<Owner, "role">): boolean {
  const { managingAll } = kinds[surface]
  return managingAll !== null && holds(role, managingAll)
}

/** The keys that a viewer sees and revokes: their own, and with `managesAll` those of accounts that can do no more. */
export function keysWithin(surface: Surface, viewer: Pick<Owner, "id" | "role">): Prisma.ApiKeyWhereInput {
  const own = { userId: viewer.id }
  if (!managesAll(surface, viewer)) return { surface, ...own }
  const beyond = roleNames.filter((role) => exceeds(role, viewer.role))
  return { surface, OR: [own, { user: { role: { notIn: beyond } } }] }
}

/** The keys of a surface that the viewer sees. */
export function listKeys(surface: Surface, viewer: Owner): Promise<ListedKey[]> {
  return list(keysWithin(surface, viewer))
}

/** The keys of an account: of admin keys those that the viewer sees on their page. The viewer may read accounts. */
export function listKeysOf(userId: string, viewer: Owner): Promise<ListedKey[]> {
  const seen = managesAll("admin", viewer) ? [keysWithin("admin", viewer)] : []
  return list({ userId, OR: [{ surface: "user" }, ...seen] })
}

/** Revoked keys last, newest first. Expiry is determined by the database clock, as on every request with a key. */
async function list(where: Prisma.ApiKeyWhereInput): Promise<ListedKey[]> {
  const [clock, keys] = await db().$transaction([
    db().$queryRaw<[{ now: Date }]>`SELECT now()`,
    db().apiKey.findMany({
      where,
      orderBy: [{ revokedAt: { sort: "desc", nulls: "first" } }, { createdAt: "desc" }, { id: "desc" }],
      select: {
        id: true,
        name: true,
        start: true,
        createdAt: true,
        lastUsedAt: true,
        expiresAt: true,
        revokedAt: true,
        user: { select: { id: true, email: true } },
      },
      take: 1000,
    }),
  ])
  const { now } = clock[0]
  return keys.map(({ user, revokedAt, ...key }) => ({
    ...key,
    owner: user,
    state: revokedAt ? "revoked" : key.expiresAt && key.expiresAt <= now ? "expired" : "active",
  }))
}
