import { randomUUID } from "node:crypto"
import pg from "pg"
import { inject } from "vitest"

// Runs before each test file: creates its own copy of the migrated database and sets its environment.
const url = inject("postgresUrl")
const name = `test_${randomUUID().replaceAll("-", "")}`
const admin = new pg.Client(url)
await admin.connect()
await admin.query(`CREATE DATABASE ${name} TEMPLATE template`)
// Rights to a database are not in its template.
await admin.query(`REVOKE TEMPORARY ON DATABASE ${name} FROM PUBLIC`)
await admin.end()

Object.assign(process.env, {
  NODE_ENV: "test",
  DATABASE_URL: inject("runtimeUrl").replace(/\/postgres$/, `/${name}`),
  MIGRATE_DATABASE_URL: url.replace(/\/postgres$/, `/${name}`),
  AUTH_SECRET: "only-for-tests-0123456789abcdef0123456789",
  LOG_LEVEL: "silent",
  BASE_URL: "http://localhost:3000",
  REDIS_URL: "",
  UPSTASH_REDIS_REST_URL: "",
  UPSTASH_REDIS_REST_TOKEN: "",
})
