import { randomUUID } from "node:crypto"
import { PrismaPg } from "@prisma/adapter-pg"
import { Pool } from "pg"
import { PrismaClient } from "@/generated/prisma/client"
import { withSettings } from "@/lib/platform/postgres/settings"
import { singleton, singletons } from "@/lib/singleton"

// The owner of the tables may do more than the product: rows in the past, deleted and changed records, other clocks.

export function ownerUrl(): string {
  return process.env.MIGRATE_DATABASE_URL ?? ""
}

export function ownerPool(): Pool {
  return singleton("owner-pool", () => {
    const created = new Pool({ connectionString: withSettings(ownerUrl()), max: 4 })
    // An idle connection may be closed when the server stops.
    created.on("error", () => {})
    return created
  })
}

/** Makes this process use another database than the one of its test file. */
export function useDatabase({ url, ownerUrl }: { url: string; ownerUrl: string }): void {
  Object.assign(process.env, { DATABASE_URL: url, MIGRATE_DATABASE_URL: ownerUrl })
  // These were made for the database of the file.
  for (const name of ["env", "pool", "prisma", "owner-pool", "owner-prisma"]) delete singletons[name]
}

/** The URL of a database for sessions with the product's settings and further options, such as a search path. */
export function withOptions(url: string, options: string): string {
  return withSettings(`${url}?options=${encodeURIComponent(options)}`)
}

/** Creates another database in the cluster of the tests, empty unless a template is given. @returns its owner's URL */
export async function createDatabase(template = "template0"): Promise<string> {
  const name = `test_${randomUUID().replaceAll("-", "")}`
  await ownerPool().query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`)
  return ownerUrl().replace(/\/\w+$/, `/${name}`)
}

export function ownerDb(): PrismaClient {
  return singleton("owner-prisma", () => new PrismaClient({ adapter: new PrismaPg(ownerPool()) }))
}
