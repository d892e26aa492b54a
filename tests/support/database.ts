import pg from "pg"
import type { TestProject } from "vitest/node"
import { migrate } from "@/scripts/migrate"
import { startTemporaryPostgres } from "@/scripts/postgres"
import { directoryInMemory } from "./directory-in-memory"
import { settingsOfTests } from "./hostile-settings"

declare module "vitest" {
  interface ProvidedContext {
    /** The PostgreSQL cluster that all tests share. Its database `template` is migrated and empty. */
    postgresUrl: string
    /** The URL of its runtime role. */
    runtimeUrl: string
  }
}

/** Starts a temporary PostgreSQL for the whole test run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const settings = ["max_connections=300", "autovacuum=off"]
  const postgres = await startTemporaryPostgres(
    [...settings.flatMap((setting) => ["-c", setting]), ...settingsOfTests],
    await directoryInMemory(),
  )
  const admin = new pg.Client(postgres.url)
  await admin.connect()
  await admin.query("CREATE DATABASE template")
  await admin.end()
  const template = (url: string) => url.replace(/\/postgres$/, "/template")
  await migrate(template(postgres.url), template(postgres.runtimeUrl))
  project.provide("postgresUrl", postgres.url)
  project.provide("runtimeUrl", postgres.runtimeUrl)
  return postgres.stop
}
