import { expect, test } from "vitest"
import { ownerPool } from "@/tests/support/owner"
import { readiness } from "./readiness"

test("a database that was never migrated is reported as pending migrations, not as unresponsive", async () => {
  expect(await readiness()).toEqual({ ready: true })
  await ownerPool().query("ALTER TABLE _prisma_migrations RENAME TO renamed")
  expect(await readiness()).toEqual({ ready: false, reason: "migrations are pending" })
})
