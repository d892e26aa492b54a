import { defineConfig } from "prisma/config"

// `prisma generate` and `validate` look for the native schema engine, which Prisma would download. Neither uses it,
// so any executable satisfies the look-up. Migrations run in Prisma's WebAssembly engine: scripts/migrate.ts.
process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= process.execPath

export default defineConfig({
  schema: "prisma",
  migrations: { path: "prisma/migrations" },
})
