import { once } from "node:events"
import { readFile } from "node:fs/promises"
import pg from "pg"
import { afterAll, expect, inject, vi } from "vitest"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { finishBackground } from "@/lib/platform/queues/background"
import { metrics } from "@/lib/platform/telemetry/metrics"
import { drainRequestLog } from "@/lib/request-log/write"
import { singleton, singletons } from "@/lib/singleton"
import { ownerDb, ownerPool } from "./owner"

// Runs before each test file: gives it a copy of the migrated database and the environment. Files of the unit suite
// share a process, so no file may see state of an earlier one.
const url = inject("postgresUrl")
const name = `test_${process.pid}`
const open = singleton("open-clients", () => {
  const clients = new Set<pg.Client>()
  const { connect } = pg.Client.prototype
  pg.Client.prototype.connect = function (this: pg.Client, ...given: []) {
    clients.add(this.once("end", () => clients.delete(this)))
    return Reflect.apply(connect, this, given)
  } as typeof connect
  const { end } = pg.Pool.prototype
  pg.Pool.prototype.end = function (this: pg.Pool, ...given: []) {
    return Reflect.apply(
      end,
      this.on("error", () => {}),
      given,
    )
  } as typeof end
  return clients
})
// Open clients of the earlier file get an error at the end of its database, which would end the process.
for (const client of open) client.on("error", () => {})
open.clear()
const admin = singleton("test-admin", () => new pg.Pool({ connectionString: url, max: 1 }))
await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
// Copying files takes half as long as writing the copy to the log of the cluster.
await admin.query(`CREATE DATABASE ${name} TEMPLATE template STRATEGY file_copy`)
// Rights to a database are not in its template.
await admin.query(`REVOKE TEMPORARY ON DATABASE ${name} FROM PUBLIC`)

const outer = { ...process.env }
Object.assign(process.env, {
  NODE_ENV: "test",
  DATABASE_URL: inject("runtimeUrl").replace(/\/postgres$/, `/${name}`),
  MIGRATE_DATABASE_URL: url.replace(/\/postgres$/, `/${name}`),
  AUTH_SECRET: "only-for-tests-0123456789abcdef0123456789",
  LOG_LEVEL: "silent",
  BASE_URL: "http://localhost:3000",
  PASSWORD_HASH_COST: "10",
  REDIS_URL: "",
  UPSTASH_REDIS_REST_URL: "",
  UPSTASH_REDIS_REST_TOKEN: "",
  STRIPE_SECRET_KEY: "",
  STRIPE_WEBHOOK_SECRET: "",
  STRIPE_API_URL: "",
})

// A Prisma client takes 100 ms to make, so the next file gets the same ones, unless this file replaces them.
const clients = { pool: pool(), prisma: db(), "owner-pool": ownerPool(), "owner-prisma": ownerDb() }
// A statement that waits for a busy machine does not fail; tests of these bounds make a pool of their own.
Object.assign(clients.pool.options, {
  connectionTimeoutMillis: 20_000,
  statement_timeout: 30_000,
  query_timeout: 30_000,
})
delete singletons.env
delete singletons.paymentProvider

// Modules that import a mocked module keep it: they are evaluated again for this file, and for the next one.
const mocksModules = /^vi\.mock\(/m.test(await readFile(expect.getState().testPath ?? "", "utf8"))
if (mocksModules) vi.resetModules()

afterAll(async () => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
  if (singletons.background) await finishBackground()
  if (singletons["request-log"]) await drainRequestLog()
  const isKept = Object.entries(clients).every(([name, client]) => singletons[name] === client) && !clients.pool.ended
  const kept = isKept ? { ...clients, metrics: metrics() } : {}
  for (const [name, value] of Object.entries(singletons)) {
    if (ofProcess.has(name) || name in kept) continue
    delete singletons[name]
    if (value instanceof pg.Pool && !value.ended) await value.end()
  }
  metrics().registry.resetMetrics()
  for (const pool of [clients.pool, clients["owner-pool"]]) await closeIdle(pool)
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, outer)
  if (mocksModules) vi.resetModules()
})

/** Singletons of the process, not of a file: modules have read them, or Node calls them. */
const ofProcess = new Set([
  ...[
    "socket-address-header",
    "forwarded-header",
    "common-passwords",
    "requests",
    "ended-renders",
    "schema-engine",
    "test-admin",
    "open-clients",
  ],
])

/** The next file's database has the same name, and connections to this one are ended when it is dropped. */
async function closeIdle(pool: pg.Pool): Promise<void> {
  while (pool.idleCount > 0) {
    const closed = once(pool, "remove")
    ;(await pool.connect()).release(true)
    await closed
  }
}
