import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { migrationsDirectory, missingFromMigrations } from "./migrate"
import { startTemporaryPostgres } from "./postgres"

const [name] = process.argv.slice(2)
if (!name || !/^[a-z][a-z0-9_]*$/.test(name)) {
  console.error("npm run db:new -- NAME    where NAME is like add_invoices: a-z, 0-9 and _")
  process.exit(1)
}

const shadow = await startTemporaryPostgres()
try {
  const sql = await missingFromMigrations(shadow.url)
  if (sql === "") {
    console.log("The migrations match the schema; nothing to write.")
  } else {
    const stamp = new Date().toISOString().replaceAll(/[-:T]/g, "").slice(0, 14)
    const target = join(migrationsDirectory, `${stamp}_${name}`)
    await mkdir(target)
    await writeFile(join(target, "migration.sql"), `${sql}\n`)
    console.log(`Wrote ${join(target, "migration.sql")}. Review it before you apply it.`)
  }
} finally {
  await shadow.stop()
}
process.exit(0)
