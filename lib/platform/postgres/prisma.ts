import { PrismaPg } from "@prisma/adapter-pg"
import { Prisma, PrismaClient } from "@/generated/prisma/client"
import { singleton } from "@/lib/singleton"
import { pool } from "./pool"

export function db(): PrismaClient {
  return singleton("prisma", () => new PrismaClient({ adapter: new PrismaPg(pool()) }))
}

export type Transaction = Parameters<Parameters<PrismaClient["$transaction"]>[0]>[0]

/** One snapshot, so that a page and its total are consistent. */
export function snapshot<Queries extends Prisma.PrismaPromise<unknown>[]>(...queries: [...Queries]) {
  return db().$transaction(queries, { isolationLevel: Prisma.TransactionIsolationLevel.RepeatableRead })
}
