import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { Redis } from "ioredis"
import { afterAll, beforeAll, expect, onTestFailed, test } from "vitest"
import { limits } from "@/lib/platform/rate-limit/rate-limit"
import { product } from "@/lib/product"
import { type Exchange, exchange } from "@/tests/support/exchange"
import { createKey, createUser } from "@/tests/support/factories"
import { type RunningCluster, type RunningRedis, startRedisCluster } from "@/tests/support/redis"
import { isLong } from "@/tests/support/sample"
import { startTestServer, type TestServer } from "@/tests/support/server"

// Two processes that share a Redis Cluster, and one master of it that fails under load. In the long form each master
// has a replica, which takes over.

/** The limit of each key. It is low in the short form, so that few calls reach it. */
const limit = isLong ? limits.key.tokens : 30
const masters = [0, 1, 2]
/** How much longer than the store's timeout a response may take on a busy machine. */
const busyMs = 1_000
const figures: string[] = []

let cluster: RunningCluster
let servers: readonly [TestServer, TestServer]

beforeAll(async () => {
  cluster = await startRedisCluster(isLong ? 1 : 0)
  const given = { REDIS_URL: cluster.url, LOG_LEVEL: "warn" }
  const now = Date.now()
  servers = [await startTestServer("lean", given, now), await startTestServer("lean", given, now)]
  return async () => {
    await Promise.all(servers.map((server) => server.stop()))
    await cluster.stop()
  }
})

afterAll(() => console.log(figures.join("\n")))

/** A new key whose calls the master with this index counts. */
async function keyOn(master: number): Promise<string> {
  let id = randomUUID()
  while (cluster.ownerOf(`{${product.slug}:key:${id}}`) !== master) id = randomUUID()
  return (await createKey({ user: await createUser(), surface: "user", id, requestsPerMinute: limit })).secret
}

function call(server: TestServer, secret: string): Promise<Exchange | undefined> {
  return exchange(`${server.address}/api/v1/me`, { headers: { "x-api-key": secret } })
}

/** How many of 310 calls these processes allow together; ten calls run concurrently. */
async function allowedBy(processes: readonly TestServer[], secret: string): Promise<number> {
  const responses: (Exchange | undefined)[] = []
  while (responses.length < limit + 10) {
    const calls = Array.from({ length: 10 / processes.length }, () => processes.map((server) => call(server, secret)))
    responses.push(...(await Promise.all(calls.flat())))
  }
  return allowedOf(responses)
}

/** The number of allowed calls; the others were refused with a 429. */
function allowedOf(responses: readonly (Exchange | undefined)[]): number {
  const others = responses.filter((response) => response?.status !== 200)
  expect(others.filter((response) => response?.status !== 429)).toEqual([])
  return responses.length - others.length
}

/** Expects that the two processes count the calls of a new key together, at each master. */
async function expectShared(): Promise<void> {
  // A new process counts on its own until it is connected.
  for (const master of masters) await expect.poll(() => isShared(master)).toBe(true)
  for (const master of masters) expect(await allowedBy(servers, await keyOn(master)), `master ${master}`).toBe(limit)
}

/** Calls with each of the keys in turn, at both processes, until it is stopped. */
function startLoad(secrets: readonly string[]) {
  const responses = secrets.map((): (Exchange | undefined)[] => [])
  let stopped = false
  const worker = async (server: TestServer) => {
    while (!stopped) {
      for (const [index, secret] of secrets.entries()) responses[index]?.push(await call(server, secret))
      await sleep(20)
    }
  }
  const working = Promise.all([...servers, ...servers].map(worker))
  const stop = () => {
    stopped = true
    return working
  }
  return { responses, stop }
}

/** How often each process has logged the event. */
function logged(event: string): number[] {
  return servers.map((server) => server.output().split(`"event":"${event}"`).length - 1)
}

/** Signals the processes of the node: Redis, and the shell that guards it. */
function signal(node: RunningRedis, name: NodeJS.Signals): void {
  process.kill(-(node.pid ?? 0), name)
}

async function allowFailover(allowed: boolean): Promise<void> {
  for (const { url } of cluster.nodes.slice(masters.length)) {
    const replica = new Redis(url)
    await replica.config("SET", "cluster-replica-no-failover", allowed ? "no" : "yes")
    replica.disconnect()
  }
}

type Fault = [name: string, master: number, signal: NodeJS.Signals, recover: (node: RunningRedis) => unknown]

const faults: Fault[] = [["hangs until it continues", 0, "SIGSTOP", (node) => signal(node, "SIGCONT")]]
if (isLong) {
  faults.push(["hangs until its replica takes over", 1, "SIGSTOP", () => allowFailover(true)])
  faults.push(["is killed until its replica takes over", 2, "SIGKILL", () => allowFailover(true)])
}

test(`a key is allowed ${limit} of ${limit + 10} calls by two processes, regardless of the master that counts them`, async () => {
  onTestFailed(printLogs)
  await expectShared()
})

test.each(faults)(
  "while a master %s, each process counts its keys, and the other keys stay exact",
  async (name, failing, signalName, recover) => {
    onTestFailed(printLogs)
    const node = cluster.nodes[failing] as RunningRedis
    await allowFailover(false)
    const before = logged("ratelimit_degraded")
    const used = await Promise.all(masters.map(keyOn))
    const load = startLoad(used)
    signal(node, signalName)
    await expect.poll(() => logged("ratelimit_degraded")).toEqual(before.map((count) => count + 1))

    const own = await keyOn(failing)
    for (const server of servers) expect(await allowedBy([server], own)).toBe(limit)
    for (const master of masters.filter((index) => index !== failing)) {
      expect(await allowedBy(servers, await keyOn(master)), `master ${master}`).toBe(limit)
    }

    await recover(node)
    const since = performance.now()
    await expect.poll(() => isShared(failing)).toBe(true)
    const sharedMs = Math.round(performance.now() - since)
    await expectShared()
    if (isLong && signalName === "SIGSTOP") {
      // A master that hung returns, as a replica if another node has taken over.
      signal(node, "SIGCONT")
      await expectShared()
    }
    await expect.poll(() => Math.min(...load.responses.map(({ length }) => length))).toBeGreaterThan(limit + 10)
    await load.stop()

    for (const [master, responses] of load.responses.entries()) {
      const allowed = allowedOf(responses)
      const later = await allowedBy(servers, used[master] ?? "")
      // The key of the failed master is counted by the cluster, and by each process during the fault.
      if (master === failing) expect(allowed + later).toBeLessThanOrEqual(limit * (1 + servers.length))
      else expect([allowed, later], `master ${master}`).toEqual([limit, 0])
      const slowest = Math.max(...responses.map((response) => response?.ms ?? 0))
      expect(slowest).toBeLessThan(250 + busyMs)
      figures.push(
        `${name}: master ${master}: ${allowed + later} of ${responses.length + limit + 10} allowed, slowest ${slowest} ms`,
      )
    }
    expect(logged("ratelimit_degraded")).toEqual(before.map((count) => count + 1))
    expect(logged("ratelimit_recovered")).toEqual(logged("ratelimit_degraded"))
    figures.push(`${name}: shared again after ${sharedMs} ms`)
  },
  // Twice the usual time: each fault takes thousands of requests.
  120_000,
)

/** Whether the processes count the calls of a new key together. */
async function isShared(master: number): Promise<boolean> {
  const secret = await keyOn(master)
  const remaining: unknown[] = []
  for (const server of servers) remaining.push((await call(server, secret))?.headers["x-ratelimit-remaining"])
  return remaining.join() === `${limit - 1},${limit - 2}`
}

function printLogs(): void {
  for (const server of servers) console.log(server.output())
}
