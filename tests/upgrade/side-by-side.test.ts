import { createHash, randomBytes, randomInt } from "node:crypto"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import pg from "pg"
import { afterAll, expect, inject, test } from "vitest"
import { keyPattern } from "@/lib/keys/secret"
import { Random } from "@/prisma/random"
import { startTemporaryPostgres } from "@/scripts/postgres"
import { root } from "@/scripts/root"
import {
  checkBalance,
  checkCharges,
  checkCommitted,
  checkLedger,
  reportViolation,
  violations,
} from "@/tests/load/chaos-checks"
import { exchange } from "@/tests/support/exchange"
import { stopAll, stopAtExit } from "@/tests/support/lifecycle"
import { startRedis } from "@/tests/support/redis"
import { type Build, type Instance, migrateWith, startInstance } from "./instances"
import { type Customer, createTraffic, type Operator } from "./traffic"
import { publicUrl, Visitor } from "./visitor"

// The last release and this one on one database under load: the upgrade, and the way back. SEED repeats the choices of a run.

const old: Build = { name: "old", folder: inject("lastRelease") }
const now: Build = { name: "new", folder: root }
const password = "four words make sense"
const credits = 1_000_000
const clients = 3
/** Runs that are acknowledged in each step. */
const runsAStep = 60

const seed = Number(process.env.SEED ?? randomInt(2 ** 31))
const random = new Random(seed)

afterAll(stopAll)

test("the last release and this one serve one database side by side, on the way there and back", async () => {
  console.log(`SEED=${seed}`)
  const postgres = stopAtExit(await startTemporaryPostgres())
  const redis = stopAtExit(await startRedis())
  const given = {
    DATABASE_URL: postgres.runtimeUrl,
    AUTH_SECRET: randomBytes(32).toString("hex"),
    BASE_URL: publicUrl,
    REDIS_URL: redis.url,
    DEMO: "off",
    VERIFY_EMAIL: "off",
    STAFF_MFA: "off",
    TRUSTED_PROXY_HOPS: "1",
    WELCOME_CREDITS: String(credits),
    // A request that waits for a busy machine does not fail. Another test covers the short locks of migrations.
    DATABASE_WAIT_MS: "30000",
    LOOP_DELAY_MS: "60000",
    LOG_LEVEL: "warn",
  }
  const migrate = (build: Build) => migrateWith(build, { ...given, MIGRATE_DATABASE_URL: postgres.url })
  const start = async (build: Build) => stopAtExit(await startInstance(build, given))
  const owner = new pg.Pool({ connectionString: postgres.url })
  // An idle connection may still be closing when PostgreSQL stops.
  owner.on("error", () => {})

  await migrate(old)
  const pool: Instance[] = [await start(old), await start(old)]
  const [first] = pool as [Instance, ...Instance[]]
  const customers: Customer[] = []
  for (let index = 0; index < 4; index++) customers.push(await signUp(first, `customer-${index}`))
  const operator = await signUpOperator(first, owner)
  const traffic = createTraffic(random, pool, customers, operator)

  // The tables that invariants read may be missing before.
  let isMigrated = false
  async function step(name: string): Promise<void> {
    const [requests, aim] = [traffic.requests(), traffic.calls.length + runsAStep]
    await expect
      .poll(() => traffic.calls.length >= aim || violations.size > 0 || isOver, { timeout: 300_000 })
      .toBe(true)
    if (isMigrated) for (const text of await checkCommitted(owner)) reportViolation(`${name}: ${text}`)
    for (const { build, address } of pool) {
      const ready = await exchange(`${address}/readyz`, {})
      if (ready?.status !== 200) reportViolation(`${name}: the ${build.name} build is not ready: ${ready?.body}`)
    }
    console.log(`  ${name}: ${traffic.requests() - requests} requests, ${traffic.calls.length} runs so far`)
  }
  /** As a proxy does: it sends the instance nothing more, waits for its responses, and then it is stopped. */
  async function leave(build: Build): Promise<void> {
    const leaving = pool.filter((instance) => instance.build === build)
    pool.splice(0, pool.length, ...pool.filter((instance) => instance.build !== build))
    for (const instance of leaving) {
      await expect.poll(() => instance.inFlight, { timeout: 60_000 }).toBe(0)
      await instance.stop()
    }
  }
  const one = (build: Build) => pool.find((instance) => instance.build === build) as Instance

  let isOver = false
  const sending = traffic.send(clients, () => !isOver && violations.size === 0)
  try {
    await step("the last release")
    const applied = await migrate(now)
    isMigrated = true
    console.log(`  ${applied.trim().split("\n")[0]}`)
    await step("the last release on the new schema")
    pool.push(await start(now), await start(now))
    await step("both")
    await actAcross(one(old), one(now))
    await actAcross(one(now), one(old))
    await step("both, after forms")
    await leave(old)
    await step("this one")

    pool.push(await start(old), await start(old))
    expect(await migrate(old)).toMatch(/up to date|nothing to do/)
    await step("both, on the way back")
    await leave(now)
    await step("the last release again")
  } finally {
    isOver = true
    await sending
  }
  await leave(old)
  expect([...violations]).toEqual([])

  for (const text of await checkCharges(owner, traffic.calls)) reportViolation(text)
  for (const text of await checkLedger(owner)) reportViolation(text)
  pool.push(await start(now))
  for (const customer of customers) {
    for (const text of await checkBalance(one(now).address, customer, traffic.calls)) reportViolation(text)
  }
  await owner.end()
  expect([...violations]).toEqual([])
})

test("the forms of a page work at other builds that have them, because their ids depend on nothing else", async () => {
  type Manifest = { node: Record<string, { filename: string; exportedName: string }> }
  const manifest = await readFile(join(root, ".next/server/server-reference-manifest.json"), "utf8")
  const actions = Object.entries((JSON.parse(manifest) as Manifest).node)
  const salt = createHash("sha256").update("server actions").digest("base64")
  expect(actions.length).toBeGreaterThan(20)
  for (const [id, { filename, exportedName }] of actions) {
    expect(id).toContain(createHash("sha1").update(`${salt}${filename}:${exportedName}`).digest("hex"))
    expect(filename).toMatch(/^app\//)
  }
})

let people = 0

function visitor(): Visitor {
  people++
  return new Visitor(`10.0.0.${people}`)
}

async function newKey(person: Visitor, at: Instance, path: string): Promise<string> {
  const name = `Key ${randomBytes(4).toString("hex")}`
  const shown = (await person.open(at, `${path}?new`)).body
  const scopes = [...shown.matchAll(/<input[^>]* name="scopes"[^>]* value="([^"]*)"/g)].map(([, scope]) => scope)
  const fields = { name, expires: "never", date: "", scopes: scopes.join(", ") }
  const { body, status } = await person.fill(at, `${path}?new`, fields)
  const [secret] = new RegExp(keyPattern).exec(body) ?? []
  if (!secret) throw new Error(`No key: ${status} ${body.slice(0, 500)}`)
  return secret
}

async function signUp(at: Instance, name: string, role?: (email: string) => Promise<unknown>) {
  const person = visitor()
  const email = `${name}@example.com`
  await person.fill(at, "/sign-up", { name, email, password })
  await role?.(email)
  const keys: [string, ...string[]] = [await newKey(person, at, "/api-keys")]
  while (keys.length < 4) keys.push(await newKey(person, at, "/api-keys"))
  const me = await exchange(`${at.address}/api/v1/me`, { headers: { "x-api-key": keys[0] } })
  const { data } = JSON.parse(me?.body ?? "{}")
  if (!data) throw new Error(`No account: ${me?.status} ${me?.body}`)
  return { id: data.id, email, session: person.session, keys, granted: credits, person }
}

async function signUpOperator(at: Instance, owner: pg.Pool): Promise<Operator> {
  const { email, session, person } = await signUp(at, "operator", (email) =>
    owner.query("UPDATE users SET role = 'owner' WHERE email = $1", [email]),
  )
  return { email, session, key: await newKey(person, at, "/admin/api-keys") }
}

/** Each build sees changes of the other at once: sessions, keys, and forms of pages that it has sent. */
async function actAcross(here: Instance, there: Instance): Promise<void> {
  const email = `across-${here.build.name}@example.com`
  const person = visitor()
  await person.fill(here, "/sign-up", { name: "Across", email, password })
  expect((await person.open(there, "/api-keys")).body, `a session of the ${here.build.name} build`).toContain(email)

  const secret = await newKey(person, here, "/api-keys")
  const status = async (at: Instance) =>
    (await exchange(`${at.address}/api/v1/me`, { headers: { "x-api-key": secret } }))?.status
  expect([await status(here), await status(there)]).toEqual([200, 200])
  const { body } = await person.open(here, "/api-keys")
  const [, id = ""] = / id="key-([0-9a-f-]{36})"/.exec(body) ?? []
  const [script = ""] = /\/_next\/static\/[^"]+\.js/.exec(body) ?? []
  expect([200, 404]).toContain((await person.open(there, script)).status)
  const path = `/api-keys?revoke=${id}`
  const fields = { id, reason: "not_needed" }
  const form = await person.formOf(here, path, fields)
  // Another build has the form, or says that it does not.
  expect((await person.submit(there, path, form, fields)).body).toMatch(/is revoked|Server Action unavailable/)
  expect((await person.submit(here, path, form, fields)).body).toContain("is revoked")
  expect([await status(there), await status(here)]).toEqual([401, 401])
}
