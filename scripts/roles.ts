import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import pg from "pg"
import { settings, withSettings } from "@/lib/platform/postgres/settings"
import { root } from "./root"

/**
 * Creates the role of `runtimeUrl` with its password if it is missing, and gives it the rights of prisma/roles.sql and
 * prisma/yours.sql.
 */
export async function applyRoles(ownerUrl: string, runtimeUrl: string): Promise<void> {
  const { username, password } = new URL(runtimeUrl)
  const role = decodeURIComponent(username)
  if (!role) throw new Error("DATABASE_URL must have the name of the role that gets its rights.")
  const files = ["prisma/roles.sql", "prisma/yours.sql"].map((file) => readFile(join(root, file), "utf8"))
  const script = (await Promise.all(files))
    .join("\n")
    .replaceAll(':"role"', () => pg.escapeIdentifier(role))
    .replaceAll(":'role'", () => pg.escapeLiteral(role))
    .replaceAll(":'secret'", () => pg.escapeLiteral(scramSecret(decodeURIComponent(password))))
  const client = new pg.Client({ connectionString: withSettings(ownerUrl) })
  client.on("error", () => {})
  await client.connect()
  try {
    // Several statements in one query are one transaction: the role always has its rights.
    await client.query(script)
  } finally {
    await client.end()
  }
}

/** Gives the sessions of a role in this database the product's settings, as prisma/roles.sql does. */
export async function setSettings(database: Pick<pg.Pool, "query">, role: string): Promise<void> {
  const { rows } = await database.query<{ name: string }>("SELECT current_database() AS name")
  const sessions = `${role} IN DATABASE ${pg.escapeIdentifier(rows[0]?.name ?? "")}`
  for (const [name, value] of Object.entries(settings)) {
    await database.query(`ALTER ROLE ${sessions} SET ${name} = ${pg.escapeLiteral(value)}`)
  }
}

/** PostgreSQL's stored form of a password (RFC 5803): the server's log of statements never contains the password. */
function scramSecret(password: string): string {
  const [iterations, salt] = [4096, randomBytes(16)]
  const salted = pbkdf2Sync(password.normalize("NFKC"), salt, iterations, 32, "sha256")
  const keyOf = (name: string) => createHmac("sha256", salted).update(name).digest()
  const stored = createHash("sha256").update(keyOf("Client Key")).digest("base64")
  return `SCRAM-SHA-256$${iterations}:${salt.toString("base64")}$${stored}:${keyOf("Server Key").toString("base64")}`
}
