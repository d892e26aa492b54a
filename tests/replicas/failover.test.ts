import { mkdtemp, rm } from "node:fs/promises"
import { join } from "node:path"
import pg from "pg"
import { beforeAll, expect, test } from "vitest"
import type { User } from "@/generated/prisma/client"
import { product } from "@/lib/product"
import { migrate } from "@/scripts/migrate"
import { dataDirectoryOf, freePort, startPostgres } from "@/scripts/postgres"
import { directoryInMemory } from "@/tests/support/directory-in-memory"
import { exchange } from "@/tests/support/exchange"
import { createKey, createOrder, createUser } from "@/tests/support/factories"
import { ownerPool, useDatabase } from "@/tests/support/owner"
import { startTestServer, type TestServer } from "@/tests/support/server"
import { type Standby, startStandby } from "@/tests/support/standby"

// The primary is lost, and a standby takes over at its address. Of two others, one had received a commit that the new
// primary lacks.

const METRICS_TOKEN = "a-token-of-the-test"

let stopPrimary: () => Promise<void>
let port: number
let [successor, ahead, follower]: Standby[] = []
let server: TestServer
let customer: User
let secrets: string[]

beforeAll(async () => {
  const directory = await mkdtemp(join(await directoryInMemory(), "primary-"))
  port = await freePort()
  const primary = await startPostgres(directory, ["-c", "fsync=off"], port)
  await migrate(primary.url, primary.runtimeUrl)
  await copyDatabase(primary.url)
  useDatabase({ url: primary.runtimeUrl, ownerUrl: primary.url })
  const standbys = [await startStandby(primary.url), await startStandby(primary.url), await startStandby(primary.url)]
  stopPrimary = primary.stop
  ;[successor, ahead, follower] = standbys
  customer = await createUser()
  const user = await createUser({ role: "owner" })
  const keys = Array.from({ length: 20 }, () => createKey({ user, surface: "admin" }))
  secrets = (await Promise.all(keys)).map(({ secret }) => secret)
  // The last one follows the primary, but its database is another one, and never read.
  const urls = [ahead?.url, follower?.url, ofCopy(successor?.url ?? "")]
  server = await startTestServer("lean", { METRICS_TOKEN, DATABASE_REPLICA_URLS: urls.join() })
  return async () => {
    await server.stop()
    await ownerPool().end()
    for (const { stop } of standbys) await stop()
    const data = await dataDirectoryOf(directory)
    for (const path of [data, directory]) await rm(path, { recursive: true, force: true })
  }
})

const ofCopy = (url: string) => Object.assign(new URL(url), { pathname: "/copy" }).href

async function copyDatabase(url: string): Promise<void> {
  const client = new pg.Client(ofCopy(url).replace("/copy", "/template1"))
  await client.connect()
  await client.query(`CREATE DATABASE copy TEMPLATE ${new URL(url).pathname.slice(1)}`)
  await client.end()
}

let turn = 0

async function listed(): Promise<string> {
  const headers = { "x-api-key": secrets[turn++ % secrets.length] ?? "" }
  const found = await exchange(`${server.address}/api/v1/admin/orders?userId=${customer.id}`, { headers }, 30_000)
  return found?.body ?? ""
}

/** The ports of the standbys that served a number of reads. */
async function sources(): Promise<(number | "primary")[]> {
  const before = await reads()
  for (let sent = 0; sent < 4; sent++) await listed()
  const after = await reads()
  return Object.keys(after)
    .filter((source) => after[source] !== before[source])
    .map((source) => (source === "primary" ? source : Number(new URL(`http://${source}`).port)))
}

async function reads(): Promise<Record<string, string>> {
  const headers = { authorization: `Bearer ${METRICS_TOKEN}` }
  const found = await exchange(`${server.address}/metrics`, { headers }, 30_000)
  const counted = found?.body.matchAll(new RegExp(`^${product.slug}_reads_total{source="(.*)"} (\\d+)$`, "gm"))
  return Object.fromEntries([...(counted ?? [])].map(([, source, count]) => [source, count]))
}

test("after a failover, a standby with commits that the new primary lacks serves no read, and one that follows does", async () => {
  if (!successor || !ahead || !follower) return expect.fail("There are no standbys.")
  await expect.poll(async () => (await sources()).sort()).toEqual([ahead.port, follower.port].sort())
  for (const standby of [successor, follower]) {
    await standby.catchUp()
    await standby.kill()
  }
  const { id: lost } = await createOrder({ userId: customer.id })
  // Positions that the new primary does not reach during the test.
  await ownerPool().query("SELECT pg_switch_wal()")
  await ahead.catchUp()
  await expect.poll(listed).toContain(lost)
  // It waits until the standby has received everything.
  await stopPrimary()
  await successor.restart(port)
  await successor.query("SELECT pg_promote()")
  await follower.restart()
  await expect.poll(listed).toContain('"data":[]')
  const { id: kept } = await createOrder({ userId: customer.id })
  await expect.poll(sources).toEqual(["primary"])
  expect(await listed()).toContain(kept)
  expect((await ahead.query(`SELECT id FROM orders WHERE id = '${lost}'`)).length).toBe(1)
  // Its restart point needs a checkpoint of the new primary.
  await successor.query("CHECKPOINT")
  await follower.catchUp()
  await follower.query("CHECKPOINT")
  await expect.poll(sources).toEqual([follower.port])
  expect(await listed()).toContain(kept)
  expect(await listed()).not.toContain(lost)
})
