import { z } from "zod"
import type { Prisma } from "@/generated/prisma/client"
import type { Scalar } from "@/lib/platform/postgres/page"
import { pool } from "@/lib/platform/postgres/pool"
import { credits } from "@/lib/platform/schemas/fields"

export const balanceMeta = z.object({
  balance: credits.describe(
    "The sum of the amounts of all entries; a call starts only if this covers its maximum cost",
  ),
  held: credits.describe("Credits reserved by runs in progress; not included in balance"),
})

export const neededForCall = z
  .int()
  .min(1)
  .nullable()
  .describe("The balance that a metered call needs to start, which is its maximum cost; null if there is no such call")

const balanceSql = {
  balance: (account: string) => `coalesce((SELECT balance FROM credit_accounts WHERE user_id = ${account}), 0)`,
  held: (account: string) =>
    `(SELECT coalesce(sum(reserved), 0)::bigint FROM runs WHERE user_id = ${account} AND state = 'reserved')`,
}

export function readBalance(database: Prisma.TransactionClient, userId: string) {
  const { balance, held } = balanceSql
  return database.$queryRawUnsafe<[{ balance: bigint; held: bigint }]>(
    `SELECT ${balance("$1::uuid")} AS balance, ${held("$1::uuid")} AS held`,
    userId,
  )
}

type OwnScalar = Scalar<{ userId?: unknown }>

export const ownBalance: Record<keyof typeof balanceSql, OwnScalar> = {
  balance: ({ userId }, _range, bind) => balanceSql.balance(bind(userId)),
  held: ({ userId }, _range, bind) => balanceSql.held(bind(userId)),
}

export const creditAccountColumns = { id: "user_id", held: balanceSql.held("page.user_id") }

/** The credits that accounts have spent and owe, since their purchase was refunded. */
export async function owedBy(userIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const { rows } = await pool().query<{ id: string; owed: string }>(
    "SELECT user_id AS id, owed FROM credit_accounts WHERE user_id = ANY ($1) AND owed > 0",
    [userIds],
  )
  return new Map(rows.map(({ id, owed }) => [id, Number(owed)]))
}
