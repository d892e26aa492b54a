import { expect, test } from "vitest"
import { pool } from "./pool"
import { readiness } from "./readiness"

test("a database that was never migrated is reported as pending migrations, not as unresponsive", async () => {
  expect(await readiness()).toEqual({ ready: true })
  await pool().query("ALTER TABLE _prisma_migrations RENAME TO renamed")
  expect(await readiness()).toEqual({ ready: false, reason: "migrations are pending" })
})
