import { randomBytes } from "node:crypto"
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import pg from "pg"
import { demoAccounts, demoKey, demoPassword } from "@/prisma/demo-accounts"
import { isEmpty, seed } from "@/prisma/seed"
import { dataDirectory } from "./local-database"

const shown = ["member", "admin", "finance", "bookkeeper"]

/** Seeds the database if it has no accounts. Returns whether it did. */
export async function seedWhenEmpty(url: string, users = Number(process.env.SEED_USERS || 200)): Promise<boolean> {
  const database = new pg.Pool({ connectionString: url })
  try {
    const empty = await isEmpty(database)
    if (empty) await seed(database, { users, now: new Date() })
    return empty
  } finally {
    await database.end()
  }
}

/** A table of the demo's sign-ins and keys. They are the same in every demo, so the table can be printed again. */
export function signIns(): string {
  const rows = demoAccounts
    .filter(({ role }) => shown.includes(role))
    .map((account) => [account.role, account.email, demoPassword, demoKey(account)])
  const table = [["role", "email", "password", "key"], ...rows]
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? []
  return table
    .map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")}`.trimEnd())
    .join("\n")
}

/** The secret that signs sessions in this directory. It is stored, so that sessions survive a restart. */
export async function localAuthSecret(): Promise<string> {
  const file = join(dataDirectory, "auth-secret")
  await mkdir(dataDirectory, { recursive: true })
  // The flag wx makes this fail if the file exists, so that an existing secret is kept.
  await writeFile(file, randomBytes(32).toString("base64url"), { mode: 0o600, flag: "wx" }).catch(() => {})
  return readFile(file, "utf8")
}
