import { PrismaPg } from "@prisma/adapter-pg"
import pg from "pg"
import { afterAll, expect, test } from "vitest"
import { PrismaClient } from "@/generated/prisma/client"
import { env } from "@/lib/env"
import { startFaultyProxy } from "@/tests/support/faulty-proxy"
import { isDatabaseUnavailable } from "./failures"
import { pool } from "./pool"

const address = new URL(env().DATABASE_URL)
const proxy = await startFaultyProxy(Number(address.port || 5432))
address.port = String(proxy.port)
address.hostname = "127.0.0.1"
const client = new PrismaClient({ adapter: new PrismaPg({ connectionString: String(address) }) })

afterAll(async () => {
  await client.$disconnect()
  await proxy.stop()
})

test("a connection that is reset while a statement runs counts as an unavailable database", async () => {
  const lock = 20_261_122
  const holder = await pool().connect()
  await holder.query("SELECT pg_advisory_lock($1)", [lock])
  try {
    const waits = () => client.$queryRaw`SELECT pg_advisory_lock(${lock}::bigint)::text`
    const failed = [
      waits(),
      client.$transaction(async (transaction) => {
        await transaction.user.count()
        return transaction.$queryRaw`SELECT pg_advisory_lock(${lock}::bigint)::text`
      }),
    ].map((query) => query.catch((error: unknown) => error))
    const waiting =
      "SELECT count(*)::int AS waiting FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = $1"
    await expect.poll(async () => (await holder.query(waiting, [lock])).rows[0].waiting).toBe(2)
    await proxy.set({ kind: "reset" })
    for (const error of await Promise.all(failed)) expect(isDatabaseUnavailable(error), String(error)).toBe(true)
  } finally {
    await holder.query("SELECT pg_advisory_unlock_all()")
    holder.release()
  }
})

test.each([
  ["a wrong password", { password: "wrong" }],
  ["a database that is not there", { pathname: "/not-there" }],
])("%s counts as an unavailable database, for statements and for Prisma", async (_name, part) => {
  const connectionString = String(Object.assign(new URL(env().DATABASE_URL), part))
  const refused = new PrismaClient({ adapter: new PrismaPg({ connectionString }) })
  const statement = await new pg.Client({ connectionString }).connect().catch((error: unknown) => error)
  const query = await refused.user.count().catch((error: unknown) => error)
  await refused.$disconnect()
  for (const error of [statement, query]) expect(isDatabaseUnavailable(error), String(error)).toBe(true)
})
