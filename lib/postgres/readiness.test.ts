import { expect, test } from "vitest"
import { pool } from "./pool"
import { readiness } from "./readiness"

test("a database that was never migrated is told from one that does not answer", async () => {
  expect(await readiness()).toEqual({ ready: true })
  await pool().query("ALTER TABLE _prisma_migrations RENAME TO elsewhere")
  expect(await readiness()).toEqual({ ready: false, reason: "migrations are pending" })
})
