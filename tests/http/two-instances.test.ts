import { randomUUID } from "node:crypto"
import { beforeAll, expect, test } from "vitest"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { freePort } from "@/scripts/postgres"
import { builtActions, callAction, sessionOf } from "@/tests/support/client"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { startHaproxy } from "@/tests/support/haproxy"
import { findViolations } from "@/tests/support/ledger-invariants"
import { startRedis } from "@/tests/support/redis"
import { startTestServer, type TestServer } from "@/tests/support/server"
import { work } from "@/tests/support/work"

// Two instances on one PostgreSQL and one Redis, behind HAProxy.

const instances = ["1", "2"] as const
type Instance = (typeof instances)[number]

let proxy: string
let servers: Record<Instance, TestServer>

beforeAll(async () => {
  const redis = await startRedis()
  const port = await freePort()
  proxy = `http://localhost:${port}`
  const given = { REDIS_URL: redis.url, REDIS_TIMEOUT_MS: "10000", BASE_URL: proxy }
  const now = Date.now()
  servers = { 1: await startTestServer("lean", given, now), 2: await startTestServer("lean", given, now) }
  const balancer = await startHaproxy(
    port,
    instances.map((name) => servers[name].port),
  )
  return async () => {
    await balancer.stop()
    await Promise.all(instances.map((name) => servers[name].stop()))
    await redis.stop()
  }
})

/** Whether the instance reports that it counts without Redis. */
function countsAlone(instance: Instance): boolean {
  const events = servers[instance].output().match(/ratelimit_(degraded|recovered)/g)
  return events?.at(-1) === "ratelimit_degraded"
}

type Ask = { secret: string; path?: string; instance?: Instance; init?: RequestInit }

async function ask({ secret, path = "/api/v1/me", instance, init }: Ask) {
  const headers = { "x-api-key": secret, ...(instance && { "x-instance": instance }), ...init?.headers }
  const response = await fetch(proxy + path, { ...init, headers })
  return { status: response.status, text: await response.text(), by: response.headers.get("x-served-by") }
}

/** Makes `times` calls, ten of them concurrently. */
async function many<Result>(times: number, call: (index: number) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = []
  let next = 0
  const worker = async () => {
    while (next < times) results.push(await call(next++))
  }
  await Promise.all(Array.from({ length: 10 }, worker))
  return results
}

async function account(credits = 0) {
  const user = await createUser()
  if (credits > 0) await grantCredits(user.id, credits)
  return { user, ...(await createKey({ user, surface: "user" })) }
}

test("the 301st request of a minute is refused by either instance", async () => {
  // The first call connects to Redis, and is counted in the process if a busy machine takes too long for it.
  const first = await account()
  for (const instance of instances) {
    const countsInRedis = async () => (await ask({ ...first, instance })).status === 200 && !countsAlone(instance)
    await expect.poll(countsInRedis).toBe(true)
  }
  const { secret } = await account()
  const responses = await many(330, () => ask({ secret }))
  const allowed = responses.filter(({ status }) => status === 200)
  expect(allowed).toHaveLength(300)
  expect(responses.filter(({ status }) => status === 429)).toHaveLength(30)
  for (const name of instances) expect(allowed.filter(({ by }) => by === name).length).toBeGreaterThan(50)
  for (const instance of instances) expect((await ask({ secret, instance })).status).toBe(429)
})

test("a call repeated at both instances is charged once and gets the same response", async () => {
  const { user, secret } = await account(10_000)
  const keys = Array.from({ length: 30 }, () => randomUUID())
  const run = (key: string) =>
    ask({
      secret,
      path: work.path,
      init: {
        method: "POST",
        headers: { "content-type": "application/json", "idempotency-key": key },
        body: work.body,
      },
    })
  const responses = await many(240, (index) => run(keys[index % keys.length] ?? ""))
  expect(new Set(responses.map(({ by }) => by)).size).toBe(2)
  // A repetition during the first run may get a 409.
  expect(responses.every(({ status }) => status === 200 || status === 409)).toBe(true)
  for (const key of keys) {
    const [one, other] = [await run(key), await run(key)]
    expect([one.status, other.status]).toEqual([200, 200])
    expect(one.by).not.toBe(other.by)
    expect(other.text).toBe(one.text)
  }
  expect(await db().run.count({ where: { userId: user.id } })).toBe(keys.length)
  expect(await findViolations(pool(), [user.id])).toEqual([])
})

test("a key revoked on the page of one instance is refused by the other on its next request", async () => {
  const user = await createUser()
  const { key, secret } = await createKey({ user, surface: "user" })
  for (const instance of instances) expect((await ask({ secret, instance })).status).toBe(200)

  const revoke = (await builtActions()).find(({ name }) => name === "api-keys revokeUserKey") ?? expect.fail()
  const headers = { cookie: await sessionOf(user), origin: proxy, host: new URL(proxy).host, "x-instance": "1" }
  const fields = { id: key.id, reason: "leaked" }
  const response = await callAction({ address: proxy }, revoke, { path: "/api-keys", fields, headers })
  expect([response.headers.get("x-served-by"), response.status]).toEqual(["1", 200])

  expect(await ask({ secret, instance: "2" })).toMatchObject({ status: 401, by: "2" })
})

test("when one instance dies, the other continues and replays the responses of the first", async () => {
  const { secret } = await account(1_000)
  const sent = {
    secret,
    path: work.path,
    init: {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": "kept" },
      body: work.body,
    },
  }
  const before = await ask({ ...sent, instance: "1" })
  expect(before).toMatchObject({ status: 200, by: "1" })
  // Kills the process group: the process and its children.
  process.kill(-servers[1].pid, "SIGKILL")
  await servers[1].exited
  for (const response of await many(40, () => ask({ secret }))) expect(response).toMatchObject({ status: 200, by: "2" })
  expect(await ask(sent)).toEqual({ ...before, by: "2" })
})
