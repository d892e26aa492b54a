import { randomBytes, randomInt } from "node:crypto"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import pg from "pg"
import { afterAll, beforeAll, expect, test } from "vitest"
import { sweep } from "@/lib/credits/ledger"
import { Random } from "@/prisma/random"
import { migrate } from "@/scripts/migrate"
import { root } from "@/scripts/root"
import { checkBalance, checkCharges, checkLedger, reportViolation, violations, whenUp } from "@/tests/load/chaos-checks"
import { type Accounts, type Clients, createAccounts, createClients } from "@/tests/load/chaos-clients"
import { prepareServer, type Server } from "@/tests/load/chaos-servers"
import type { Exchange } from "@/tests/support/exchange"
import { useDatabase } from "@/tests/support/owner"
import { startPrometheus } from "@/tests/support/prometheus"
import { type Cluster, type MachineName, startCluster } from "./cluster"
import { createPeople, type People } from "./forms"

// Twenty failures of the cluster of ops/ha under load. After each, everything acknowledged is there.

const seed = Number(process.env.SEED ?? randomInt(2 ** 31))
const random = new Random(seed)
const clientCount = 6

let cluster: Cluster
let servers: readonly [Server, Server]
let observer: pg.Pool
let accounts: Accounts
let clients: Clients
let people: People

/** When each server acknowledged runs. */
const acknowledged = new Map<string, number[]>()
/** Tolerance for a busy machine, from the time that requests took before the failure. */
let busyMs = 1_000
let slowest = 0
let slowest503 = 0

const figures: string[] = []
afterAll(() => console.log([`SEED=${seed}`, ...figures].join("\n")))

beforeAll(async () => {
  cluster = await startCluster()
  const urlOf = (host: string, user: string, password: string, database = "product") =>
    `postgresql://${user}:${password}@${host}:5432/${database}`
  const [host] = cluster.hosts
  const primary = cluster.hostOf(await cluster.healthy())
  const superuser = new pg.Client(urlOf(primary, "postgres", cluster.superuserPassword, "postgres"))
  await superuser.connect()
  await superuser.query("CREATE ROLE owner LOGIN CREATEROLE PASSWORD 'owner'")
  await superuser.query("CREATE DATABASE product OWNER owner")
  await superuser.end()
  await migrate(urlOf(primary, "owner", "owner"), urlOf(primary, "runtime", "runtime"))

  const AUTH_SECRET = randomBytes(32).toString("hex")
  const ownerUrl = urlOf(host, "owner", "owner")
  useDatabase({ url: urlOf(host, "runtime", "runtime"), ownerUrl })
  Object.assign(process.env, { AUTH_SECRET, BASE_URL: "http://localhost" })
  observer = new pg.Pool({ connectionString: ownerUrl, max: 4 })
  observer.on("error", () => {})

  const start = async (host: string) => {
    const given = { VERIFY_EMAIL: "off", STAFF_MFA: "off", LOOP_DELAY_MS: "60000", TRUSTED_PROXY_HOPS: "1" }
    const url = { DATABASE_URL: urlOf(host, "runtime", "runtime"), BASE_URL: "http://localhost", AUTH_SECRET }
    const server = await prepareServer({ ...given, ...url }, reportViolation)
    await server.start()
    return server
  }
  servers = [await start(cluster.hosts[0]), await start(cluster.hosts[1])]
  const addresses: [string, string] = [servers[0].address, servers[1].address]
  accounts = await createAccounts(8, 1_000_000)
  const [rich, poor] = [accounts.slice(0, 6) as Accounts, accounts.slice(6) as Accounts]
  clients = createClients({ random, rich, poor, addresses, pauseMs: 50, onViolation: reportViolation, onResponse })
  people = await createPeople(random, accounts, addresses)
  return async () => {
    await Promise.all(servers.map((server) => server.stop()))
    await observer.end()
    await cluster.stop()
  }
})

function onResponse(address: string, { status, headers, ms }: Exchange): void {
  if (status === 200) {
    slowest = Math.max(slowest, ms)
    acknowledged.set(address, [...(acknowledged.get(address) ?? []), performance.now()])
  }
  if (status !== 503) return
  slowest503 = Math.max(slowest503, ms)
  if (ms > 3_000 + busyMs || !/^[1-9]\d*$/.test(headers["retry-after"] ?? ""))
    reportViolation(`A 503 took ${ms} ms, with Retry-After ${headers["retry-after"]}`)
}

type Failure = {
  name: string
  /** The longest time in which a server acknowledges nothing. */
  maxMs: number
  /** Resolves once the cluster has a primary again, and everything runs. */
  act: (primary: MachineName) => Promise<unknown>
}

const postmaster: Failure = {
  name: "the postmaster of the primary is killed",
  maxMs: 12_000,
  act: (primary) => cluster.killPostgres(primary),
}

const machine: Failure = {
  name: "the machine of the primary is lost",
  maxMs: 12_000,
  async act(primary) {
    await cluster.killMachine(primary)
    await cluster.failedOver(primary)
    await cluster.startMachine(primary)
  },
}

const standby: Failure = {
  name: "the machine of the synchronous standby is lost",
  maxMs: 5_000,
  async act() {
    const lost = await cluster.synchronousStandby()
    await cluster.killMachine(lost)
    await until(async () => {
      const next = (await cluster.members()).find(({ role }) => role === "sync_standby")
      return next !== undefined && next.name !== lost
    })
    await cluster.startMachine(lost)
  },
}

const patroni: Failure = {
  name: "Patroni of the primary is killed, and its PostgreSQL goes on",
  maxMs: 12_000,
  async act(primary) {
    await cluster.killPatroni(primary)
    await cluster.failedOver(primary)
    await expectNothingAcknowledged(primary)
    await cluster.startPatroni(primary)
  },
}

const network: Failure = {
  name: "the machine of the primary is cut off the network",
  maxMs: 12_000,
  async act(primary) {
    await cluster.cutOff(primary)
    await cluster.failedOver(primary)
    await cluster.reconnect()
  },
}

const switchover: Failure = {
  name: "a switchover",
  maxMs: 5_000,
  async act(primary) {
    await cluster.switchover(primary, await cluster.synchronousStandby())
    await cluster.failedOver(primary)
  },
}

const etcd: Failure = {
  name: "the leader of etcd is killed",
  maxMs: 2_000,
  act: async () => cluster.killEtcd(await cluster.etcdLeader()),
}

const haproxy: Failure = {
  name: "HAProxy of a server is killed",
  maxMs: 3_000,
  act: () => cluster.killHaproxy(0),
}

const twenty = [
  switchover,
  machine,
  postmaster,
  network,
  haproxy,
  patroni,
  etcd,
  machine,
  standby,
  network,
  postmaster,
  patroni,
  haproxy,
  machine,
  switchover,
  etcd,
  patroni,
  network,
  postmaster,
  machine,
]

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const since = performance.now()
  while (!(await condition())) {
    if (performance.now() - since > 120_000)
      throw new Error(`Not within two minutes: ${condition}\n${cluster.output()}`)
    await sleep(50)
  }
}

/** An old primary without Patroni accepts statements, but no commit of it is acknowledged. */
async function expectNothingAcknowledged(former: MachineName): Promise<void> {
  const connection = { host: cluster.hostOf(former), user: "owner", password: "owner", database: "product" }
  const client = new pg.Client({ ...connection, query_timeout: 2_000 })
  client.on("error", () => {})
  await client.connect()
  const { rows } = await client.query("SELECT pg_is_in_recovery() AS standby")
  expect(rows).toEqual([{ standby: false }])
  await expect(client.query("CREATE TABLE lost ()")).rejects.toThrow("Query read timeout")
  client.connection.stream.destroy()
}

/** Acknowledged runs of each server since this time. */
async function awaitAcknowledged(count: number, since: number): Promise<void> {
  await until(() =>
    servers.every(({ address }) => (acknowledged.get(address) ?? []).filter((at) => at > since).length >= count),
  )
}

function longestGapMs(since: number): number {
  const gaps = servers.flatMap(({ address }) => {
    const times = [since, ...(acknowledged.get(address) ?? []).filter((at) => at > since)]
    return times.slice(1).map((at, index) => at - (times[index] ?? at))
  })
  return Math.round(Math.max(...gaps))
}

/** Retries every call until it is acknowledged. */
async function finishCalls(): Promise<void> {
  while (clients.open.size > 0) {
    await clients.run(clientCount, () => ([...clients.open].some(({ keyInUse }) => !keyInUse) ? "finish" : "end"))
    // Of requests that could neither settle nor release.
    await whenUp(async () => {
      await observer.query("UPDATE runs SET expires_at = date_trunc('milliseconds', now()) WHERE state = 'reserved'")
      await sweep(observer)
    })
    for (const call of clients.open) call.keyInUse = false
  }
}

test.each(twenty.map((failure, index) => [index + 1, failure.name, failure] as const))(
  "%i. %s: nothing acknowledged is lost, and the service returns without a restart",
  async (_number, name, { maxMs, act }) => {
    const primary = await cluster.healthy()
    let goesOn = true
    const calling = clients.run(clientCount, () => (goesOn ? "call" : "end"))
    const acting = people.act(() => goesOn)
    try {
      slowest = 0
      await awaitAcknowledged(20, performance.now())
      busyMs = Math.max(1_000, 5 * slowest)
      slowest503 = 0
      const since = performance.now()
      await act(primary)
      await awaitAcknowledged(20, performance.now())
      const next = await cluster.healthy()
      await awaitAcknowledged(20, performance.now())
      const gapMs = longestGapMs(since)
      figures.push(
        `${name}: ${(gapMs / 1_000).toFixed(1)} s without an acknowledged run, 503 after ${slowest503} ms at most; ${primary} -> ${next}`,
      )
      console.log(figures.at(-1))
      expect(gapMs).toBeLessThan(maxMs + busyMs)
    } finally {
      goesOn = false
      await Promise.all([calling, acting])
    }
    await finishCalls()
    const missing = await whenUp(async () => [
      ...(await checkCharges(observer, clients.calls)),
      ...(await checkLedger(observer)),
      ...(await people.missing(observer)),
    ])
    expect([...missing, ...violations]).toEqual([])
  },
)

test("the alerts fire when machines and the synchronous standby are missing, and then the primary serves alone", async () => {
  const primary = await cluster.healthy()
  const rules = (await readFile(join(root, "ops/ha/alerts.yaml"), "utf8")).replaceAll("for: 1m", "for: 3s")
  const prometheus = await startPrometheus(cluster.targets, "database", "", rules)
  try {
    await expect.poll(() => prometheus.count("patroni_sync_standby == 1")).toBe(1)
    await expect.poll(() => prometheus.count('up{job="database"} == 1')).toBe(6)
    expect(await prometheus.firing()).toEqual([])
    const standbys = (await cluster.members()).map(({ name }) => name).filter((name) => name !== primary)
    // Not etcd: without two of its three members there is no primary either.
    for (const name of standbys) await cluster.killDatabase(name)
    await expect
      .poll(async () => [...new Set(await prometheus.firing())].sort(), { timeout: 60_000 })
      .toEqual(["DatabaseMachineDown", "NoSynchronousStandby"])
    const since = performance.now()
    await clients.run(clientCount, () => (performance.now() - since < 1_000 ? "call" : "end"))
    await finishCalls()
    await awaitAcknowledged(1, since)
    for (const name of standbys) await cluster.startPatroni(name)
    await cluster.healthy()
    await expect.poll(() => prometheus.firing(), { timeout: 60_000 }).toEqual([])
  } finally {
    await prometheus.stop()
  }
})

test("the API reports the balance of each account: its grants, without the costs of its calls", async () => {
  for (const account of accounts) {
    expect(await checkBalance(servers[1].address, account, clients.calls)).toEqual([])
  }
  const counts = people.counts()
  figures.push(`${clients.acknowledged()} runs acknowledged, ${JSON.stringify(counts)}`)
  expect(Math.min(...Object.values(counts))).toBeGreaterThan(20)
})
