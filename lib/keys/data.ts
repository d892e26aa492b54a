import type { User } from "@/generated/prisma/client"
import type { OwnerId } from "@/lib/accounts/owner"
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
  owner: Pick<User, "id" | "email" | "name">
}

export type KeyState = "active" | "expired" | "revoked"

/**
 * The keys of a surface, revoked keys last, newest first: the viewer's own, or those of every owner if the kind is
 * shared (the caller has checked the permission). Expiry is determined by the database clock, as on every request with
 * a key.
 */
export async function listKeys(surface: Surface, viewer: OwnerId): Promise<ListedKey[]> {
  const [clock, keys] = await db().$transaction([
    db().$queryRaw<[{ now: Date }]>`SELECT now()`,
    db().apiKey.findMany({
      where: { surface, ...(kinds[surface].shared ? {} : { userId: viewer }) },
      orderBy: [{ revokedAt: { sort: "desc", nulls: "first" } }, { createdAt: "desc" }, { id: "desc" }],
      select: {
        id: true,
        name: true,
        start: true,
        createdAt: true,
        lastUsedAt: true,
        expiresAt: true,
        revokedAt: true,
        user: { select: { id: true, email: true, name: true } },
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
