import { rm } from "node:fs/promises"
import { join } from "node:path"
import { loadEnvFiles } from "./env-files.mjs"
import { migrate } from "./migrate"
import { dataDirectoryOf, isServed, startPostgres } from "./postgres"
import { root } from "./root"

/** What the demo and development keep between runs. */
export const dataDirectory = join(root, ".data")

/** `local`: the one in .data. */
export type Database = { url: string; local: boolean; stop: () => Promise<void> }

/** Removes what the demo and development keep, wherever it really is. */
export async function removeLocalData(): Promise<void> {
  const postgres = join(dataDirectory, "postgres")
  if (await isServed(postgres)) throw new Error("Another process uses .data: stop the demo or `npm run dev` first.")
  await rm(await dataDirectoryOf(postgres), { recursive: true, force: true })
  await rm(dataDirectory, { recursive: true, force: true })
}

/** The database in .data that the demo and development share, migrated. */
export async function openLocalDatabase(): Promise<Database> {
  const { url, stop } = await startPostgres(join(dataDirectory, "postgres"))
  await migrate(url)
  return { url, local: true, stop }
}

/** The database of DATABASE_URL as it is, or the one in .data. */
export async function openDatabase(): Promise<Database> {
  loadEnvFiles()
  const url = process.env.DATABASE_URL
  return url ? { url, local: false, stop: async () => {} } : openLocalDatabase()
}
