import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import pg from "pg"
import type { TestProject } from "vitest/node"
import { migrate } from "./migrate"
import { startPostgres } from "./postgres"

declare module "vitest" {
  interface ProvidedContext {
    /** The cluster the tests share; `template` in it is migrated and empty. */
    postgresUrl: string
  }
}

/** One real PostgreSQL for the whole test run, thrown away afterwards: durability is off, correctness is not. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = await mkdtemp(join(tmpdir(), "tsk-test-"))
  const flags = ["-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_connections=300"]
  const postgres = await startPostgres(directory, flags)
  const admin = new pg.Client(postgres.url)
  await admin.connect()
  await admin.query("CREATE DATABASE template")
  await admin.end()
  await migrate(postgres.url.replace(/\/postgres$/, "/template"))
  project.provide("postgresUrl", postgres.url)
  return async () => {
    await postgres.stop()
    await rm(directory, { recursive: true, force: true })
  }
}
