import { readdir, readFile } from "node:fs/promises"
import { request } from "node:http"
import { join } from "node:path"
import { json } from "node:stream/consumers"
import { beforeAll, describe, expect, test } from "vitest"
import { demoPayments } from "@/lib/env"
import { hashSecret } from "@/lib/keys/secret"
import { db } from "@/lib/platform/postgres/prisma"
import { version } from "@/lib/platform/version"
import { demoAccounts, demoKey } from "@/lib/process/demo-accounts"
import { product } from "@/lib/product"
import { collect, type Given, type Listener, serve } from "@/scripts/build-and-serve"
import { freePort } from "@/scripts/postgres"
import { root } from "@/scripts/root"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { startFaultyProxy } from "@/tests/support/faulty-proxy"
import { ownerPool, ownerUrl } from "@/tests/support/owner"
import { startRedis } from "@/tests/support/redis"
import { listeners, sampled } from "@/tests/support/sample"
import { startTestServer, type TestServer } from "@/tests/support/server"
import { work } from "@/tests/support/work"

// How the processes of `npm start` start and stop.

async function freshKey(): Promise<string> {
  const user = await createUser()
  await grantCredits(user.id, 1_000)
  return (await createKey({ user, surface: "user" })).secret
}

function status(server: TestServer, secret: string): Promise<number> {
  return fetch(`${server.address}/api/v1/me`, { headers: { "x-api-key": secret } }).then(
    (response) => response.status,
    () => 0,
  )
}

/** The listening processes, from the line that each prints at startup. */
function listening(server: TestServer): { pid: number; sweeper: string }[] {
  const lines = server.output().matchAll(/^Process (\d+) listens on http:\S+, sweeper (on|off), version \S+$/gm)
  return [...lines].map(([, pid, sweeper = ""]) => ({ pid: Number(pid), sweeper }))
}

describe("one process", () => {
  let server: TestServer

  beforeAll(async () => {
    server = await startTestServer("lean")
  })

  test("the line that says where it listens names the version of the build", () => {
    expect(server.output()).toContain(` listens on http://127.0.0.1:${server.port}, sweeper on, version ${version}\n`)
  })

  test("a port in use is named in the error, without a stack trace", async () => {
    const { DATABASE_URL = "", AUTH_SECRET = "" } = process.env
    const second = serve(server.port, { DATABASE_URL, AUTH_SECRET })
    const output = collect(second)
    expect(await second.exited).toBe(1)
    expect(output()).toMatch(new RegExp(`^The server cannot start: .*EADDRINUSE.*:${server.port}$`, "m"))
    expect(output()).not.toMatch(/^\s+at /m)
  })

  test("on shutdown, a process completes the run in progress and exits without logging an error", async () => {
    const run = request(server.address + work.path, {
      method: "POST",
      headers: { "x-api-key": await freshKey(), "content-type": "application/json", expect: "100-continue" },
    })
    const received = new Promise<{ statusCode: number | undefined; body: unknown }>((done, failed) => {
      run.on("error", failed)
      run.on("response", async (response) => {
        done({ statusCode: response.statusCode, body: await json(response) })
      })
    })
    run.flushHeaders()
    // After 100 Continue, the server waits for the body.
    await new Promise((continued) => run.once("continue", continued))
    const stopped = server.stop()
    await expect.poll(() => status(server, "x")).toBe(0)
    run.end(work.body)
    expect(await received).toMatchObject({ statusCode: 200, body: { data: { cost: expect.any(Number) } } })
    await stopped
    expect(await server.exited).toBe(0)
    expect(server.output()).not.toMatch(/error/i)
  })

  test.each(["DATABASE_URL", "AUTH_SECRET"])(
    "without %s the server does not start, and the error names the variable without a stack trace",
    async (name) => {
      const { AUTH_SECRET = "", DATABASE_URL = "" } = process.env
      const server = serve(await freePort(), { AUTH_SECRET, DATABASE_URL, [name]: "" })
      const output = collect(server)
      expect(await server.exited).toBe(1)
      expect(output()).toContain(`${name} is required`)
      expect(output()).not.toMatch(/^\s+at /m)
    },
  )
})

const METRICS_TOKEN = "a-token-of-the-test"

/** As in production, with the settings that the demo does not need. */
const production = { DEMO: "off", VERIFY_EMAIL: "off", LOG_LEVEL: "warn", PASSWORD_HASH_COST: "" }

const arrangements: readonly [name: string, Listener, processes: number][] = [
  ["one process", "lean", 1],
  ["Next alone", "next", 1],
  ["several processes", "lean", 2],
]
const withoutNext = arrangements.filter(([, listener]) => listeners.includes(listener))

/** Expects that a server does not start, and says why without a stack trace. */
async function expectRefused(listener: Listener, given: Given, reason: RegExp): Promise<void> {
  const { DATABASE_URL = "", AUTH_SECRET = "" } = process.env
  const server = serve(await freePort(), { DATABASE_URL, AUTH_SECRET, ...given }, listener)
  const output = collect(server)
  expect(await server.exited).toBe(1)
  expect(output()).toMatch(reason)
  expect(output()).not.toMatch(/^\s+at /m)
}

describe("payments that nobody made buy nothing in production", () => {
  const live = { STRIPE_SECRET_KEY: "sk_live_1", STRIPE_WEBHOOK_SECRET: "whsec_1" }
  const standIn = "http://127.0.0.1:12111"
  const ofDemo = demoPayments.STRIPE_WEBHOOK_SECRET

  const refused: [Given, RegExp][] = [
    [{ ...live, STRIPE_API_URL: standIn }, /STRIPE_API_URL must be absent in production/],
    [{ ...live, STRIPE_SECRET_KEY: "sk_test_1" }, /STRIPE_SECRET_KEY must .* in production/],
    [{ ...demoPayments, STRIPE_API_URL: standIn }, /STRIPE_SECRET_KEY must .* in production/],
    [{ ...live, STRIPE_WEBHOOK_SECRET: ofDemo }, /STRIPE_WEBHOOK_SECRET must not .* in production/],
    [{ ...live, DEMO: "on", STRIPE_API_URL: "http://stripe.example.com" }, /STRIPE_API_URL must be on this machine/],
    [{ STRIPE_SECRET_KEY: live.STRIPE_SECRET_KEY }, /STRIPE_WEBHOOK_SECRET is required/],
  ]
  // lib/env.test.ts has the other settings.
  test.each(sampled(refused))("a server with %j does not start", (given, reason) =>
    expectRefused("lean", { ...production, ...given }, reason),
  )

  test("the build holds no file of the stand-in", async () => {
    const folders = ["dist", ".next/server", ".next/static"].map((folder) => join(root, folder))
    const files = (
      await Promise.all(folders.map((folder) => readdir(folder, { recursive: true, withFileTypes: true })))
    )
      .flat()
      .filter((entry) => entry.isFile() && /\.(m?js|json|html)$/.test(entry.name))
    expect(files.length).toBeGreaterThan(100)
    for (const { parentPath, name } of files)
      expect(await readFile(join(parentPath, name), "utf8"), name).not.toContain("this is a stand-in of Stripe")
  })
})

/** Expects that a server starts while the database is away, and that all its processes exit when it is back. */
async function expectExit(listener: Listener, processes: number, given: Given, reason: RegExp): Promise<void> {
  const { DATABASE_URL = "" } = process.env
  const redis = await startRedis()
  const proxy = await startFaultyProxy(Number(new URL(DATABASE_URL).port))
  await proxy.set({ kind: "refused" })
  const server = await startTestServer(listener, {
    ...given,
    DATABASE_URL: DATABASE_URL.replace(/:\d+\//, `:${proxy.port}/`),
    WEB_CONCURRENCY: String(processes),
    REDIS_URL: redis.url,
  })
  expect((await fetch(`${server.address}/healthz`)).status).toBe(200)
  expect(await status(server, (await createKey({ user: await createUser(), surface: "user" })).secret)).toBe(503)
  await proxy.set({ kind: "none" })
  expect(await server.exited).toBe(1)
  expect(server.output()).toMatch(reason)
  await expect.poll(() => status(server, "x")).toBe(0)
  await proxy.stop()
  await redis.stop()
}

describe("on a database that holds a key of the demo", () => {
  const refused = /^The server cannot start: the database holds the accounts of the demo, .* are public\./m

  beforeAll(async () => {
    const [account = expect.fail()] = demoAccounts
    const { key } = await createKey({ user: await createUser({ status: "closed" }), surface: account.surface })
    await db().apiKey.update({
      where: { id: key.id },
      data: { hash: hashSecret(demoKey(account)), revokedAt: new Date() },
    })
    return () => db().apiKey.update({ where: { id: key.id }, data: { hash: key.hash } })
  })

  test.each(listeners)("production does not start, but the demo does (%s)", async (listener) => {
    await expectRefused(listener, production, refused)
    const demo = await startTestServer(listener, { DEMO: "on" })
    expect(await status(demo, "x")).toBe(401)
    await demo.stop()
  })

  test.each(sampled(arrangements))(
    "production that started while the database was away exits when it is back: %s",
    (_, listener, processes) => expectExit(listener, processes, production, refused),
  )
})

describe("on a database that a newer version migrated", () => {
  const refused = /^The server cannot start: the database needs version 99\.0\.0 or later, .* Use version 99\.1\.0/m
  const needs = (oldest: string) => ownerPool().query("UPDATE schema_version SET oldest_build = $1", [oldest])

  beforeAll(async () => {
    const { rows } = await ownerPool().query("SELECT migrated_by, oldest_build FROM schema_version")
    await ownerPool().query("UPDATE schema_version SET migrated_by = '99.1.0'")
    const { migrated_by: by, oldest_build: oldest } = rows[0]
    return () => ownerPool().query("UPDATE schema_version SET (migrated_by, oldest_build) = ($1, $2)", [by, oldest])
  })

  test.each(sampled(withoutNext))(
    "an unsupported server does not start, and names the version to use: %s",
    async (_, listener, processes) => {
      await needs("99.0.0")
      const given = { WEB_CONCURRENCY: String(processes), REDIS_URL: "redis://127.0.0.1:1" }
      await expectRefused(listener, given, refused)
    },
  )

  test.each(sampled(arrangements))(
    "an unsupported server that started while the database was away exits when it is back: %s",
    async (_, listener, processes) => {
      await needs("99.0.0")
      await expectExit(listener, processes, {}, refused)
    },
  )

  test.each(listeners)(
    "a supported server serves, without a mailbox or a warning of its rights, and is not ready once it is refused (%s)",
    async (listener) => {
      await needs(version)
      const server = await startTestServer(listener, production)
      const secret = await freshKey()
      expect(await status(server, secret)).toBe(200)
      expect((await fetch(`${server.address}/readyz`)).status).toBe(200)
      expect((await fetch(`${server.address}/dev/mailbox`)).status).toBe(404)
      expect(server.output()).not.toContain("audit_log_not_protected")
      await needs("99.0.0")
      // A result is shared for a second.
      await expect.poll(async () => (await fetch(`${server.address}/readyz`)).status).toBe(503)
      const response = await fetch(`${server.address}/readyz`)
      const reason = `the database needs version 99.0.0 or later, and this is version ${version}. Use version 99.1.0, which migrated it.`
      expect(await response.json()).toEqual({ status: "not ready" })
      await expect.poll(server.output).toContain(JSON.stringify(reason))
      expect((await fetch(`${server.address}/healthz`)).status).toBe(200)
      await server.stop()
      expect(server.output()).not.toContain("audit_log_not_protected")
    },
  )
})

test.each(listeners)(
  "on a database whose owner is the role of the server, production warns that it could change the audit log (%s)",
  async (listener) => {
    const server = await startTestServer(listener, { ...production, DATABASE_URL: ownerUrl() })
    await expect.poll(server.output).toContain('"event":"audit_log_not_protected"')
    expect(await status(server, await freshKey())).toBe(200)
    await server.stop()
  },
)

describe("several processes", () => {
  let redis: Awaited<ReturnType<typeof startRedis>>
  let server: TestServer

  beforeAll(async () => {
    redis = await startRedis()
    const given = {
      WEB_CONCURRENCY: "2",
      REDIS_URL: redis.url,
      REDIS_TIMEOUT_MS: "10000",
      METRICS_TOKEN,
      LOG_LEVEL: "info",
    }
    server = await startTestServer("lean", given)
    return async () => {
      await server.stop()
      await redis.stop()
    }
  })

  test("share the port and the rate limits, and one of them runs the sweeper", async () => {
    await expect.poll(() => listening(server), { timeout: 30_000 }).toHaveLength(2)
    await expect.poll(countsTogether).toBe(true)
    expect(
      listening(server)
        .map(({ sweeper }) => sweeper)
        .sort(),
    ).toEqual(["off", "on"])
    const secret = await freshKey()
    const statuses: number[] = []
    const worker = async () => {
      while (statuses.length < 310) statuses.push(await status(server, secret))
    }
    await Promise.all(Array.from({ length: 5 }, worker))
    expect(statuses.filter((code) => code === 200)).toHaveLength(300)
    expect(statuses.filter((code) => code === 429)).toHaveLength(statuses.length - 300)
  })

  /** A new process counts on its own until it is connected to Redis. */
  async function countsTogether(): Promise<boolean> {
    const headers = { "x-api-key": await freshKey(), connection: "close" }
    const remaining: (string | null)[] = []
    while (remaining.length < 8) {
      remaining.push((await fetch(`${server.address}/api/v1/me`, { headers })).headers.get("x-ratelimit-remaining"))
    }
    return remaining.join() === "299,298,297,296,295,294,293,292"
  }

  test("return their combined metrics, or none while one of them is stopped", async () => {
    const headers = { authorization: `Bearer ${METRICS_TOKEN}`, connection: "close" }
    const metrics = () => fetch(`${server.address}/metrics`, { headers })
    const line = `${product.slug}_http_requests_total{route="/api/v1/me",status="200",method="GET"} `
    const counted = async () => Number((await (await metrics()).text()).split(line)[1]?.split("\n")[0])
    const before = await counted()
    const secret = await freshKey()
    for (let sent = 0; sent < 20; sent++) {
      await fetch(`${server.address}/api/v1/me`, { headers: { "x-api-key": secret, connection: "close" } })
    }
    expect((await counted()) - before).toBe(20)
    const pids = () => new Set(server.output().match(/(?<="pid":)\d+/g)).size
    await expect.poll(pids, { timeout: 10_000 }).toBe(2)

    // Each process gets one of two requests on two connections. The running one does not report its own counts only.
    const [stopped] = listening(server)
    process.kill(stopped?.pid ?? 0, "SIGSTOP")
    try {
      const first = await Promise.race([metrics(), metrics()])
      expect([first.status, first.headers.get("retry-after")]).toEqual([503, "5"])
    } finally {
      process.kill(stopped?.pid ?? 0, "SIGCONT")
    }
    await expect.poll(async () => (await metrics()).status, { timeout: 10_000 }).toBe(200)
  })

  test("a process that dies is replaced by one with the same role", async () => {
    const [sweeping] = listening(server).filter(({ sweeper }) => sweeper === "on")
    process.kill(sweeping?.pid ?? 0, "SIGKILL")
    await expect.poll(() => listening(server), { timeout: 30_000 }).toHaveLength(3)
    expect(listening(server)[2]?.sweeper).toBe("on")
    expect(await status(server, await freshKey())).toBe(200)
  })

  test("all exit with code 0 when the primary process receives SIGTERM", async () => {
    await server.stop()
    expect(await server.exited).toBe(0)
    for (const { pid } of listening(server)) expect(() => process.kill(pid, 0)).toThrow("ESRCH")
  })
})

test("several processes do not start without Redis, and the error names the reason", async () => {
  const { DATABASE_URL = "", AUTH_SECRET = "" } = process.env
  const server = serve(await freePort(), { DATABASE_URL, AUTH_SECRET, WEB_CONCURRENCY: "2", REDIS_URL: "" })
  const output = collect(server)
  expect(await server.exited).toBe(1)
  expect(output()).toContain("WEB_CONCURRENCY above 1 requires REDIS_URL")
})
