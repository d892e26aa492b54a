import type pg from "pg"
import { afterEach, expect, test, vi } from "vitest"
import { GET as readCredits } from "@/app/api/v1/me/credits/route"
import { GET as readRequests } from "@/app/api/v1/me/requests/route"
import { GET as readAccount } from "@/app/api/v1/me/route"
import { POST as runCall } from "@/app/api/v1/me/run/route"
import { env } from "@/lib/env"
import { findKey } from "@/lib/keys/calling-key"
import { pool } from "@/lib/platform/postgres/pool"
import { inTurn, maxRunning, maxWaiting } from "@/lib/platform/queues/turns"
import { socketAddressHeader } from "@/lib/platform/rate-limit/client-address"
import { keyReportOf } from "@/lib/request-log/key-report"
import { logApplication } from "@/lib/request-log/write"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { listedKey } from "@/tests/support/listed-key"
import { ownerPool } from "@/tests/support/owner"
import { work } from "@/tests/support/work"

// The capacity that one account, or one address, can take from others while its statements take long.

const waitMs = env().DATABASE_WAIT_MS

afterEach(() => {
  env().DATABASE_WAIT_MS = waitMs
  vi.restoreAllMocks()
})

async function customer(keys: number) {
  const user = await createUser()
  await grantCredits(user.id, 100 * work.maxCost)
  const created = await Promise.all(
    Array.from({ length: keys }, () => createKey({ user, surface: "user", lastUsedAt: new Date() })),
  )
  return { id: user.id, secrets: created.map(({ secret }) => secret) }
}

function requestOf(
  path: string,
  secret: string,
  { address = "192.0.2.1", ...init }: RequestInit & { address?: string } = {},
) {
  const headers = { "x-api-key": secret, "content-type": "application/json", [socketAddressHeader]: address }
  return new Request(`http://localhost:3000${path}`, { ...init, headers })
}

const deepRead = (secret: string) => readRequests(requestOf("/api/v1/me/requests?offset=9900", secret))

/** One of each request, as another customer sends them. */
function requestsOf({ secrets: [secret = ""] }: Awaited<ReturnType<typeof customer>>) {
  return [
    readAccount(requestOf("/api/v1/me", secret)),
    readCredits(requestOf("/api/v1/me/credits", secret)),
    runCall(requestOf(work.path, secret, { method: "POST", body: work.body })),
  ]
}

/** Holds all reads of the request log, until `act` ends. */
async function whileLogIsLocked<Result>(act: () => Promise<Result>, table = "key_requests"): Promise<Result> {
  const connection = await ownerPool().connect()
  try {
    await connection.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`)
    return await act()
  } finally {
    connection.release(true)
  }
}

async function untilHeld(statements: number): Promise<void> {
  const held = `
    SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND application_name <> $1`
  await expect.poll(async () => (await ownerPool().query(held, [logApplication])).rowCount).toBe(statements)
}

const statusesOf = async (responses: readonly Promise<Response>[]) =>
  (await Promise.all(responses)).map(({ status }) => status)

test("an account whose twelve keys read deeply holds a third of the connections, and all requests of another customer succeed", async () => {
  const [greedy, other] = [await customer(12), await customer(1)]
  const reads = await whileLogIsLocked(async () => {
    const reads = Array.from({ length: 4 }, () => greedy.secrets.map(deepRead)).flat()
    await untilHeld(maxRunning())
    const rounds = Array.from({ length: 10 }, () => requestsOf(other)).flat()
    expect(await statusesOf(rounds)).toEqual(rounds.map(() => 200))
    const { totalCount, idleCount, waitingCount } = pool()
    expect([totalCount - idleCount, waitingCount]).toEqual([maxRunning(), 0])
    return reads
  })
  expect(await statusesOf(reads)).toEqual(reads.map(() => 200))
})

test("an account that reads reports of its keys on pages holds a third of the connections, too", async () => {
  const [greedy, other] = [await customer(1), await customer(1)]
  const reports = await whileLogIsLocked(async () => {
    const reports = Array.from({ length: 24 }, () => keyReportOf(listedKey({ id: greedy.id }), greedy))
    await untilHeld(maxRunning())
    expect(await statusesOf(requestsOf(other))).toEqual([200, 200, 200])
    return reports
  }, "key_reach")
  await Promise.all(reports)
})

test("an account with too many requests in progress gets a 429, with any of its keys, and nobody else does", async () => {
  const [greedy, other] = [await customer(2), await customer(1)]
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const tasks = Array.from({ length: maxRunning() + maxWaiting }, () => inTurn(greedy.id, "request", () => ended))
  for (const secret of greedy.secrets) {
    const response = await deepRead(secret)
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "2"])
    const message = "Too many requests of this account are in progress. Try again in 2 seconds."
    expect(await response.json()).toEqual({ error: { code: "rate_limited", message } })
  }
  expect(await statusesOf(requestsOf(other))).toEqual([200, 200, 200])
  end()
  await Promise.all(tasks)
  expect((await deepRead(greedy.secrets[0] ?? "")).status).toBe(200)
})

test("a request that has waited for its account's turn as long as for a connection gets a 429", async () => {
  const { secrets } = await customer(1)
  const [secret = ""] = secrets
  env().DATABASE_WAIT_MS = 1_500
  await whileLogIsLocked(async () => {
    const held = Array.from({ length: maxRunning() }, () => deepRead(secret))
    await untilHeld(maxRunning())
    expect((await deepRead(secret)).status).toBe(429)
    expect(await statusesOf(held)).toEqual(held.map(() => 503))
  })
})

test("while keys are looked up for one address, keys of another are found", async () => {
  const { secrets } = await customer(1)
  const [secret = ""] = secrets
  const query = pool().query.bind(pool()) as (statement: pg.QueryConfig) => Promise<pg.QueryResult>
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let held = 0
  const holding = async (statement: pg.QueryConfig) => {
    if (statement.name === findKey.name && held < maxRunning()) {
      held++
      await released
    }
    return query(statement)
  }
  vi.spyOn(pool(), "query").mockImplementation(holding as never)
  const flood = Array.from({ length: maxRunning() + maxWaiting }, () => readAccount(requestOf("/api/v1/me", secret)))
  await expect.poll(() => held).toBe(maxRunning())
  const refused = await readAccount(requestOf("/api/v1/me", secret))
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "2"])
  const elsewhere = requestOf("/api/v1/me", secret, { address: "192.0.2.2" })
  expect((await readAccount(elsewhere)).status).toBe(200)
  release()
  expect(await statusesOf(flood)).toEqual(flood.map(() => 200))
})
