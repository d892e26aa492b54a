import pg from "pg"
import { afterEach, expect, test } from "vitest"
import type { OwnerId } from "@/lib/authority/owner"
import { env } from "@/lib/env"
import { currentSubscription } from "@/lib/purchases/subscriptions"
import { singletons } from "@/lib/singleton"
import { createUser } from "@/tests/support/factories"
import { startFaultyProxy } from "@/tests/support/faulty-proxy"
import { pool, survivingLosses } from "./pool"

afterEach(async () => {
  await pool().end()
  for (const name of ["env", "pool"]) delete singletons[name]
})

/** The statements that the only connection of a pool has prepared after one read, and one in a transaction. */
async function preparedStatements(setting: string): Promise<string[]> {
  Object.assign(process.env, { DATABASE_POOL_MAX: "1", DATABASE_PREPARE: setting })
  expect(await currentSubscription(owner)).toBeNull()
  const client = await pool().connect()
  await client.query("BEGIN")
  await client.query({ name: "in-transaction", text: "SELECT" })
  await client.query("COMMIT")
  client.release()
  const { rows } = await pool().query<{ name: string }>("SELECT name FROM pg_prepared_statements ORDER BY name")
  return rows.map(({ name }) => name)
}

const { id } = await createUser()
const owner = id as OwnerId

test("statements are prepared once per connection", async () => {
  expect(await preparedStatements("on")).toEqual(["current-subscription", "in-transaction"])
})

test("with DATABASE_PREPARE=off, no statement is prepared, so an external pooler can switch connections", async () => {
  expect(await preparedStatements("off")).toEqual([])
})

test("an idle connection does not delay the exit of a process that has nothing more to do", async () => {
  const delaying = () => process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length
  const client = await pool().connect()
  const whileUsed = delaying()
  client.release()
  expect(delaying()).toBe(whileUsed - 1)
})

test("a process survives the loss of a connection that is in use, and of one that is idle", async () => {
  const url = new URL(env().DATABASE_URL)
  const proxy = await startFaultyProxy(Number(url.port))
  const lossy = survivingLosses(new pg.Pool({ connectionString: Object.assign(url, { port: proxy.port }).href }))
  const [used, idle] = [await lossy.connect(), await lossy.connect()]
  idle.release()
  // An error without a listener is an uncaught exception, which fails the test run.
  const [sleeping] = await Promise.allSettled([used.query("SELECT pg_sleep(60)"), proxy.set({ kind: "refused" })])
  expect(sleeping.status).toBe("rejected")
  used.release(true)
  await expect.poll(() => lossy.totalCount).toBe(0)
  await proxy.stop()
  await lossy.end()
})
