import { expect, test } from "vitest"
import { pool } from "@/lib/platform/postgres/pool"
import { createKey, createUser } from "@/tests/support/factories"
import { recordUse } from "./calling-key"

test("the use of a key is recorded under its own account's id only", async () => {
  const [user, other] = [await createUser(), await createUser()]
  const { key } = await createKey({ user, surface: "user" })
  const record = async (userId: string) => (await pool().query({ ...recordUse, values: [key.id, userId] })).rowCount
  expect([await record(other.id), await record(user.id)]).toEqual([0, 1])
})
