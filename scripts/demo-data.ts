import { randomBytes } from "node:crypto"
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import pg from "pg"
import { isLoopback } from "@/lib/env"
import { hashSecret } from "@/lib/keys/secret"
import { survivingLosses } from "@/lib/platform/postgres/pool"
import { withSettings } from "@/lib/platform/postgres/settings"
import { demoAccounts, demoKey, demoPassword } from "@/lib/process/demo-accounts"
import { isEmpty, seed } from "@/prisma/seed"
import { dataDirectory } from "./local-database"

const shown = ["member", "admin", "finance", "bookkeeper"]

/** Seeds the database if it has no accounts. Returns whether it did. */
export async function seedWhenEmpty(ownerUrl: string, users = Number(process.env.SEED_USERS || 200)): Promise<boolean> {
  const database = survivingLosses(new pg.Pool({ connectionString: withSettings(ownerUrl) }))
  try {
    const empty = await isEmpty(database)
    if (empty) await seed(database, { users, now: new Date() })
    return empty
  } finally {
    await database.end()
  }
}

/** A table of the demo's sign-ins and keys, which are the same in every demo, or a reason why the keys do not work. */
export async function signIns(ownerUrl: string): Promise<string> {
  if (!(await hasDemoKeys(ownerUrl)))
    return "  The data in .data was made before the product got its name, or without the demo's keys.\n  npm run demo -- --reset starts with new data and keys."
  const rows = demoAccounts
    .filter(({ role }) => shown.includes(role))
    .map((account) => [account.role, account.email, demoPassword, demoKey(account)])
  const table = [["role", "email", "password", "key"], ...rows]
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? []
  return table
    .map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")}`.trimEnd())
    .join("\n")
}

async function hasDemoKeys(ownerUrl: string): Promise<boolean> {
  const database = new pg.Client({ connectionString: withSettings(ownerUrl) })
  await database.connect()
  try {
    const hashes = demoAccounts
      .filter(({ role }) => shown.includes(role))
      .map((account) => hashSecret(demoKey(account)))
    const { rowCount } = await database.query("SELECT FROM api_keys WHERE hash = ANY ($1)", [hashes])
    return rowCount === hashes.length
  } finally {
    await database.end()
  }
}

/** Says in capitals what a demo that listens on `host` makes public; empty if only this machine can reach it. */
export function publicNotice(host: string): string {
  if (isLoopback(host)) return ""
  return `  HOST=${host} MAKES THIS DEMO PUBLIC: EVERYONE WHO CAN REACH THIS MACHINE CAN SIGN IN AS EVERY ROLE, WITH\n  THE PASSWORD AND THE KEYS ABOVE, WHICH ARE THE SAME IN EVERY DEMO.\n\n`
}

/** The secret that signs sessions in this directory. It is stored, so that sessions survive a restart. */
export async function localAuthSecret(): Promise<string> {
  const file = join(dataDirectory, "auth-secret")
  await mkdir(dataDirectory, { recursive: true })
  // The flag wx makes this fail if the file exists, so that an existing secret is kept.
  await writeFile(file, randomBytes(32).toString("base64url"), { mode: 0o600, flag: "wx" }).catch(() => {})
  return readFile(file, "utf8")
}
