import pg from "pg"
import type { TestProject } from "vitest/node"
import { migrate } from "@/scripts/migrate"
import { startTemporaryPostgres } from "@/scripts/postgres"

declare module "vitest" {
  interface ProvidedContext {
    /** The PostgreSQL cluster that all tests share. Its database `template` is migrated and empty. */
    postgresUrl: string
    isLong: boolean
  }
}

/** Starts a temporary PostgreSQL for the whole test run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const postgres = await startTemporaryPostgres(["-c", "max_connections=300"])
  const admin = new pg.Client(postgres.url)
  await admin.connect()
  await admin.query("CREATE DATABASE template")
  await admin.end()
  await migrate(postgres.url.replace(/\/postgres$/, "/template"))
  project.provide("postgresUrl", postgres.url)
  return postgres.stop
}
