import { existsSync } from "node:fs"
import { rm } from "node:fs/promises"
import { join, resolve } from "node:path"
import { migrate } from "./migrate"
import { dataDirectoryOf, isServed, startPostgres } from "./postgres"

export const root = resolve(import.meta.dirname, "..")

/** What the demo and development keep between runs. */
export const dataDirectory = join(root, ".data")

export type Database = { url: string; name: string; stop: () => Promise<void> }

/** Reads .env.local and .env as Next does: what is set already stays. */
export function loadEnvFiles(): void {
  for (const file of [".env.local", ".env"]) {
    if (existsSync(join(root, file))) process.loadEnvFile(join(root, file))
  }
}

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
  return { url, name: "the database in .data", stop }
}

/** The database of DATABASE_URL as it is, or the one in .data; lib/db.ts reads DATABASE_URL and finds either. */
export async function openDatabase(): Promise<Database> {
  loadEnvFiles()
  if (process.env.DATABASE_URL) {
    return { url: process.env.DATABASE_URL, name: "the database of DATABASE_URL", stop: async () => {} }
  }
  const local = await openLocalDatabase()
  process.env.DATABASE_URL = local.url
  return local
}
