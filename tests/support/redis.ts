import { execFile } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { Command, Redis } from "ioredis"
import { startChild } from "@/scripts/child"
import { freePort } from "@/scripts/postgres"
import { onPath } from "./on-path"

const run = promisify(execFile)

export type RunningRedis = { url: string; port: number; pid: number | undefined; stop: () => Promise<void> }

/** Starts a Redis without persistence, on a free port unless one is given. */
export async function startRedis(port?: number, settings: readonly string[] = []): Promise<RunningRedis> {
  const chosen = port ?? (await freePort())
  const flags = ["--port", String(chosen), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
  const server = startChild(findRedis() ?? "redis-server", [...flags, ...settings], {
    signal: "TERM",
    cwd: "/",
    env: process.env,
  })
  let exited = false
  server.exited.then(() => {
    exited = true
  })
  server.process.stdout?.resume()
  while (!(await accepts(chosen))) {
    if (exited) throw new Error("redis-server did not start: install it, or set REDIS_SERVER_PATH to its path.")
  }
  return { url: `redis://127.0.0.1:${chosen}`, port: chosen, pid: server.process.pid, stop: server.stop }
}

export type RunningCluster = {
  /** The URLs of the masters, separated by commas. */
  url: string
  /** Three masters, then their replicas in any order. */
  nodes: RunningRedis[]
  /** The index of the master that owned the key when the cluster was created. */
  ownerOf: (key: string) => number
  stop: () => Promise<void>
}

/**
 * Starts a Redis Cluster of three masters, each with a replica if `replicas` is 1. A node that does not respond counts as
 * failed after a second, and the others continue without its slots.
 */
export async function startRedisCluster(replicas: 0 | 1): Promise<RunningCluster> {
  const directory = await mkdtemp(join(tmpdir(), "redis-cluster-"))
  const settings = {
    "cluster-enabled": "yes",
    "cluster-node-timeout": "1000",
    "cluster-require-full-coverage": "no",
    "cluster-replica-validity-factor": "0",
    "repl-diskless-sync-delay": "0",
  }
  const nodes: RunningRedis[] = []
  const addresses: string[] = []
  while (nodes.length < 3 + 3 * replicas) {
    const busPort = String(await freePort())
    const own = { "cluster-port": busPort, "cluster-config-file": join(directory, `${nodes.length}.conf`) }
    const flags = Object.entries({ ...settings, ...own }).flatMap(([name, value]) => [`--${name}`, value])
    const node = await startRedis(undefined, flags)
    nodes.push(node)
    addresses.push(`127.0.0.1:${node.port}@${busPort}`)
  }
  const cli = join(dirname(findRedis() ?? ""), "redis-cli")
  await run(cli, ["--cluster", "create", ...addresses, "--cluster-replicas", String(replicas), "--cluster-yes"])
  const urls = nodes.map(({ url }) => url)
  const clients = urls.map((url) => new Redis(url))
  for (const client of clients) while (!(await isReady(client))) await new Promise((done) => setTimeout(done, 50))
  const ranges = (await clients[0]?.cluster("SLOTS")) ?? []
  for (const client of clients) client.disconnect()
  return {
    url: urls.slice(0, 3).join(),
    nodes,
    ownerOf(key) {
      const slot = new Command("get", [key]).getSlot()
      const [, , [, owner] = []] = ranges.find(([from, to]) => from <= slot && slot <= to) ?? []
      return nodes.findIndex(({ port }) => port === owner)
    },
    async stop() {
      await Promise.all(nodes.map(({ stop }) => stop()))
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** Whether the node accepts commands; a replica also has a copy of its master. */
async function isReady(client: Redis): Promise<boolean> {
  const [cluster, replication] = await Promise.all([client.cluster("INFO"), client.info("replication")])
  return /cluster_state:ok/.test(cluster) && /role:master|master_link_status:up/.test(replication)
}

/** The path of a Redis server: `REDIS_SERVER_PATH`, or the one on the PATH. */
export function findRedis(): string | undefined {
  return process.env.REDIS_SERVER_PATH || onPath("redis-server")
}

function accepts(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(port, "127.0.0.1")
    socket.once("connect", () => {
      socket.destroy()
      done(true)
    })
    socket.once("error", () => setTimeout(() => done(false), 20))
  })
}
