import { afterEach, expect, test } from "vitest"
import type { OwnerId } from "@/lib/accounts/owner"
import { singletons } from "@/lib/singleton"
import { currentSubscription } from "@/lib/subscriptions"
import { createUser } from "@/tests/support/factories"
import { pool } from "./pool"

afterEach(async () => {
  await pool().end()
  for (const name of ["env", "pool"]) delete singletons[name]
})

/** The statements that the only connection of a pool has prepared after one read. */
async function preparedStatements(setting: string): Promise<string[]> {
  Object.assign(process.env, { DATABASE_POOL_MAX: "1", DATABASE_PREPARE: setting })
  expect(await currentSubscription(owner)).toBeNull()
  const { rows } = await pool().query<{ name: string }>("SELECT name FROM pg_prepared_statements")
  return rows.map(({ name }) => name)
}

const { id } = await createUser()
const owner = id as OwnerId

test("statements are prepared once per connection", async () => {
  expect(await preparedStatements("on")).toEqual(["current-subscription"])
})

test("with DATABASE_PREPARE=off, no statement is prepared, so an external pooler can switch connections", async () => {
  expect(await preparedStatements("off")).toEqual([])
})
