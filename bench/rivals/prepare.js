import { getMigrations } from "better-auth/db/migration"
import { auth } from "./auth.js"

// Creates better-auth's tables and accounts with one key each, and prints the keys. Argument: the number of accounts.

const count = Number(process.argv[2])
const { runMigrations } = await getMigrations(auth().options)
await runMigrations()
const { internalAdapter } = await auth().$context
const keys = []
while (keys.length < count) {
  const user = await internalAdapter.createUser({ email: `rival-${keys.length}@example.com`, name: "Test User" })
  const { key } = await auth().api.createApiKey({ body: { userId: user.id, name: "Test key" } })
  keys.push(key)
}
console.log(JSON.stringify(keys))
process.exit(0)
