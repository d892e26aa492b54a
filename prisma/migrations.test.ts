import { randomUUID } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import pg from "pg"
import { expect, test } from "vitest"
import { closeStatement, reserveStatement } from "@/lib/credits/ledger"
import { migrationsDirectory } from "@/scripts/migrate"
import { startTemporaryPostgres } from "@/scripts/postgres"

/** The last migration of the release before this one. */
const released = "20261122220212_sign_ups_without_email_index"

test("the migrations since the last release apply while runs are in flight, and none of them fails", async () => {
  const postgres = await startTemporaryPostgres()
  const database = new pg.Pool({ connectionString: postgres.url })
  // An idle connection may still be closing when the server stops.
  database.on("error", () => {})
  try {
    const names = readdirSync(migrationsDirectory).filter((name) => !name.endsWith(".toml"))
    const apply = (name: string) => database.query(readFileSync(`${migrationsDirectory}/${name}/migration.sql`, "utf8"))
    for (const name of names.filter((name) => name <= released).sort()) await apply(name)
    const [userId, keyId] = [randomUUID(), randomUUID()]
    await database.query(`
      INSERT INTO users (id, email, name) VALUES ('${userId}', 'nova@example.com', 'Nova');
      INSERT INTO credit_accounts (user_id, balance) VALUES ('${userId}', 1000000);
      INSERT INTO api_keys (id, user_id, surface, name, start, hash, request_id)
      VALUES ('${keyId}', '${userId}', 'user', 'CI', 'tsk_usr_abcd', sha256('x'), gen_random_uuid())`)

    let [settled, isDone] = [0, false]
    const run = async () => {
      while (!isDone) {
        const runId = randomUUID()
        await database.query({ ...reserveStatement, values: [runId, userId, keyId, 10, null, Buffer.alloc(32), 60] })
        await database.query({ ...closeStatement, values: [runId, "settled", 1, "", ""] })
        settled++
      }
    }
    const running = Array.from({ length: 6 }, run)
    const failed = Promise.all(running).then(() => expect.fail("The runs ended before the migrations."))
    await Promise.race([failed, expect.poll(() => settled).toBeGreaterThan(20)])
    for (const name of names.filter((name) => name > released).sort()) await Promise.race([failed, apply(name)])
    const atTheEnd = settled
    await Promise.race([failed, expect.poll(() => settled).toBeGreaterThan(atTheEnd)])
    isDone = true
    failed.catch(() => {})
    await Promise.all(running)
  } finally {
    await database.end()
    await postgres.stop()
  }
})
