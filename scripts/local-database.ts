import { rm } from "node:fs/promises"
import { join } from "node:path"
import { loadEnvFiles } from "./env-files.mjs"
import { migrate } from "./migrate"
import { dataDirectoryOf, isRunning, startPostgres } from "./postgres"
import { root } from "./root"

/** The data that the demo and development keep between runs. */
export const dataDirectory = join(root, ".data")

/** `ownerUrl` is for migrations and the seed; `local`: whether this is the database in .data. */
export type Database = { url: string; ownerUrl: string; local: boolean; stop: () => Promise<void> }

/** A command's error for an address that no account has. */
export function unknownAccount(email: string, { local }: Database): string {
  return `No account has the address ${email} in ${local ? "the database in .data" : "the database of DATABASE_URL"}.`
}

/** Removes this data, including a PostgreSQL data directory outside of .data. */
export async function removeLocalData(): Promise<void> {
  const postgres = join(dataDirectory, "postgres")
  if (await isRunning(postgres)) throw new Error("Another process uses .data: stop the demo or `npm run dev` first.")
  await rm(await dataDirectoryOf(postgres), { recursive: true, force: true })
  await rm(dataDirectory, { recursive: true, force: true })
}

/** The database in .data that the demo and development share, migrated. */
export async function openLocalDatabase(): Promise<Database> {
  const { url: ownerUrl, runtimeUrl: url, stop } = await startPostgres(join(dataDirectory, "postgres"))
  await migrate(ownerUrl, url)
  return { url, ownerUrl, local: true, stop }
}

/** The database of DATABASE_URL, without migrating it, or the database in .data. */
export async function openDatabase(): Promise<Database> {
  loadEnvFiles()
  const { DATABASE_URL: url, MIGRATE_DATABASE_URL } = process.env
  return url ? { url, ownerUrl: MIGRATE_DATABASE_URL || url, local: false, stop: async () => {} } : openLocalDatabase()
}
