import { PrismaPg } from "@prisma/adapter-pg"
import { Pool } from "pg"
import { PrismaClient } from "@/generated/prisma/client"
import { singleton } from "@/lib/singleton"

// The owner of the tables, for what the product may not do: rows in the past, deleted and changed records, other clocks.

export function ownerUrl(): string {
  return process.env.MIGRATE_DATABASE_URL ?? ""
}

export function ownerPool(): Pool {
  return singleton("owner-pool", () => {
    const created = new Pool({ connectionString: ownerUrl(), max: 4 })
    // An idle connection may be closed when the server stops.
    created.on("error", () => {})
    return created
  })
}

export function ownerDb(): PrismaClient {
  return singleton("owner-prisma", () => new PrismaClient({ adapter: new PrismaPg(ownerPool()) }))
}
