import { emailParameter } from "@/lib/platform/email/address"
import { db } from "@/lib/platform/postgres/prisma"
import { search, type Term } from "@/lib/platform/postgres/search"
import { isUuid } from "@/lib/platform/schemas/text"

export async function accountsOf(ids: readonly string[]): Promise<Map<string, { email: string; name: string }>> {
  const accounts = await db().user.findMany({
    where: { id: { in: ids.filter(isUuid) } },
    select: { id: true, email: true, name: true },
  })
  return new Map(accounts.map(({ id, ...account }) => [id, account]))
}

export async function isAccount(id: string): Promise<boolean> {
  return (await accountsOf([id])).size > 0
}

export async function findIdByEmail(typed: string): Promise<string | undefined> {
  const email = emailParameter.safeParse(typed)
  if (!email.success) return undefined
  const account = await db().user.findUnique({ where: { email: email.data }, select: { id: true } })
  return account?.id
}

export type Matches = { accounts: readonly { id: string; email: string; name: string }[]; others: number }

export async function findAccounts(term: Term): Promise<Matches | undefined> {
  const ids = await search({ table: "users", account: "id" }, term)
  if (!ids) return undefined
  const accounts = await db().user.findMany({
    where: { id: { in: ids } },
    select: { id: true, email: true, name: true },
    orderBy: [{ createdAt: "desc" }, { id: "desc" }],
    take: 10,
  })
  return { accounts, others: ids.length - accounts.length }
}
