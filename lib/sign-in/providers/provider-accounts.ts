import { z } from "zod"
import { audit } from "@/lib/audit/entries"
import { idIn, lockAccounts, lockViewer } from "@/lib/authority/authority"
import { db, type Transaction } from "@/lib/platform/postgres/prisma"
import { hidden } from "@/lib/platform/schemas/form-fields"
import type { Viewer } from "../session-rows"
import { providerIds, providerName, socialProviders } from "./providers"

export const connectForm = z.strictObject({ provider: hidden(z.enum(providerIds)) })

export const disconnectForm = z.strictObject({ id: hidden(z.uuid()) })

type ConnectedProvider = {
  id: string
  provider: string
  name: string
  createdAt: Date
  isLast: boolean
}

export type WaysIn = { hasPassword: boolean; providers: ConnectedProvider[] }

export async function waysIn(userId: string, database: Pick<Transaction, "user"> = db()): Promise<WaysIn> {
  const { passwordHash, providerAccounts } = await database.user.findUniqueOrThrow({
    where: { id: userId },
    include: { providerAccounts: { orderBy: { createdAt: "asc" } } },
  })
  const available = new Set<string>(socialProviders().map(({ id }) => id))
  const usable = providerAccounts.filter(({ provider }) => available.has(provider))
  const providers = providerAccounts.map(({ id, provider, createdAt }) => {
    const isLast = passwordHash === null && usable.every((other) => other.id === id)
    return { id, provider, name: providerName(provider), createdAt, isLast }
  })
  return { hasPassword: passwordHash !== null, providers }
}

export function connectProvider(
  viewer: Viewer,
  { provider, providerAccountId }: { provider: string; providerAccountId: string },
): Promise<"connected" | "expired" | "second" | "in_use"> {
  return db().$transaction(async (transaction) => {
    if (!(await lockViewer(transaction, viewer))) return "expired"
    const { id: userId } = viewer
    if ((await transaction.providerAccount.count({ where: { userId, provider } })) > 0) return "second"
    const data = { userId, type: "oauth", provider, providerAccountId }
    const { count } = await transaction.providerAccount.createMany({ data, skipDuplicates: true })
    if (count === 0) return "in_use"
    const entry = { actorId: userId, targetType: "user", targetId: userId, details: { provider } } as const
    await audit(transaction, { ...entry, action: "user.provider_connected" })
    return "connected"
  })
}

/** Waits for a change that is being made. */
export async function isConnected(
  userId: string,
  { provider, providerAccountId }: { provider: string; providerAccountId: string },
): Promise<boolean> {
  const found = await db().$queryRaw<unknown[]>`
    SELECT id FROM accounts
    WHERE provider = ${provider} AND provider_account_id = ${providerAccountId} AND user_id = ${userId}::uuid
    FOR KEY SHARE`
  return found.length === 1
}

export function disconnectProvider(
  { id: userId, sessionId }: Viewer,
  id: string,
): Promise<{ ok: true; name: string } | { ok: false; reason: "not_connected" | "last" }> {
  return db().$transaction(async (transaction) => {
    // Of two that are disconnected at once, the second waits here and is then the last.
    await lockAccounts(transaction, idIn(userId))
    const found = (await waysIn(userId, transaction)).providers.find((provider) => provider.id === id)
    if (!found) return { ok: false, reason: "not_connected" }
    if (found.isLast) return { ok: false, reason: "last" }
    const { provider, name } = found
    await transaction.providerAccount.delete({ where: { id } })
    await transaction.session.deleteMany({ where: { userId, via: provider, id: { not: sessionId } } })
    await transaction.pendingSignIn.deleteMany({ where: { userId, via: provider } })
    const entry = { actorId: userId, targetType: "user", targetId: userId, details: { provider } } as const
    await audit(transaction, { ...entry, action: "user.provider_disconnected" })
    return { ok: true, name }
  })
}
