import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { migrationsDirectory, missingFromMigrations } from "./migrate"
import { startTemporaryPostgres } from "./postgres"

/** Writes the changes of the schema as a migration. @returns its file, or undefined if the migrations match the schema */
export async function writeMigration(name: string): Promise<string | undefined> {
  const shadow = await startTemporaryPostgres()
  try {
    const sql = await missingFromMigrations(shadow.url)
    if (sql === "") return undefined
    const stamp = new Date().toISOString().replaceAll(/[-:T]/g, "").slice(0, 14)
    const target = join(migrationsDirectory, `${stamp}_${name}`)
    await mkdir(target)
    await writeFile(join(target, "migration.sql"), `${sql}\n`)
    return join(target, "migration.sql")
  } finally {
    await shadow.stop()
  }
}

if (import.meta.filename === process.argv[1]) {
  const [name] = process.argv.slice(2)
  if (!name || !/^[a-z][a-z0-9_]*$/.test(name)) {
    console.error("npm run db:new -- NAME    where NAME is like add_invoices: a-z, 0-9 and _")
    process.exit(1)
  }
  const file = await writeMigration(name)
  console.log(
    file ? `Wrote ${file}. Review it before you apply it.` : "The migrations match the schema; nothing to write.",
  )
  process.exit(0)
}
