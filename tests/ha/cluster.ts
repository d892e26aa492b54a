import { randomInt, randomUUID } from "node:crypto"
import { chown, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { collect } from "@/scripts/build-and-serve"
import { type Child, startChild } from "@/scripts/child"
import { unprivilegedUser } from "@/scripts/postgres"
import { root } from "@/scripts/root"
import { killGroup } from "@/tests/load/chaos-servers"
import { findDebianPostgres } from "@/tests/support/debian-cluster"
import { directoryInMemory } from "@/tests/support/directory-in-memory"
import { type FaultyProxy, startFaultyProxy } from "@/tests/support/faulty-proxy"
import { findHaproxy } from "@/tests/support/haproxy"

// Three database machines and two machines with servers, as docs/high-availability.md describes them, with the files of
// ops/ha. Only addresses, passwords and directories differ: 10.0.0.11 is an address of this machine. Machines reach each
// other through proxies, which can cut one of them off.

const names = ["db1", "db2", "db3"] as const
export type MachineName = (typeof names)[number]

const ports = { postgres: 5432, patroni: 8008, etcd: 2379 }

/** A program that is started again when it ends, as by systemd, until it is stopped. Both kill it. */
type Supervised = { kill: () => Promise<void>; stop: () => Promise<void>; output: () => string }

type Machine = {
  name: MachineName
  /** Where its programs listen. */
  host: string
  etcd?: Supervised
  patroni?: Supervised
  directory: string
}

type Member = { name: MachineName; role: string; state: string; timeline?: number; lag?: number | "unknown" }

export type Cluster = {
  /** Of PostgreSQL for each of the two servers, which is an address of HAProxy. */
  hosts: readonly [string, string]
  superuserPassword: string
  members: () => Promise<Member[]>
  /** Waits until there is a primary, a synchronous standby, and a third machine that follows. @returns the primary */
  healthy: () => Promise<MachineName>
  /** Waits until another machine is the primary, and accepts writes. */
  failedOver: (from: MachineName) => Promise<MachineName>
  synchronousStandby: () => Promise<MachineName>
  etcdLeader: () => Promise<MachineName>
  hostOf: (name: MachineName) => string
  /** For Prometheus: Patroni and etcd of each machine. */
  targets: readonly string[]
  killPostgres: (name: MachineName) => Promise<void>
  /** It does not start again. */
  killPatroni: (name: MachineName) => Promise<void>
  startPatroni: (name: MachineName) => Promise<void>
  /** Patroni and PostgreSQL, which do not start again. */
  killDatabase: (name: MachineName) => Promise<void>
  /** All programs of the machine, which do not start again. */
  killMachine: (name: MachineName) => Promise<void>
  startMachine: (name: MachineName) => Promise<void>
  killEtcd: (name: MachineName) => Promise<void>
  killHaproxy: (index: 0 | 1) => Promise<void>
  switchover: (from: MachineName, to: MachineName) => Promise<void>
  cutOff: (name: MachineName) => Promise<void>
  reconnect: () => Promise<void>
  output: () => string
  stop: () => Promise<void>
}

export async function startCluster(): Promise<Cluster> {
  const version = findDebianPostgres() ?? fail("Debian's PostgreSQL is not installed.")
  const directory = await mkdtemp(join(await directoryInMemory(), "ha-"))
  const user = await unprivilegedUser()
  const password = randomUUID()
  // The second byte of the addresses of this run; the third one is the machine that uses the address.
  const network = `127.${randomInt(2, 250)}`
  const direct = `${network}.0`
  const [ofDatabases, ofServers] = [1, 2]
  const machines = names.map((name, index): Machine => {
    return { name, host: `${direct}.${11 + index}`, directory: join(directory, name) }
  })
  const proxies = new Map<string, FaultyProxy>()

  async function own(path: string): Promise<void> {
    await mkdir(path, { recursive: true })
    if (user.uid !== undefined && user.gid !== undefined) await chown(path, user.uid, user.gid)
  }

  /** Makes a file of ops/ha one of a machine of this run, which sees the others in this network. */
  async function here(file: string, sees: string, machine?: Machine, advertises = sees): Promise<string> {
    const text = await readFile(join(root, "ops/ha", file), "utf8")
    return text
      .replaceAll("@name@", machine?.name ?? "")
      .replaceAll("@address@", machine ? addressIn(advertises, machine) : "")
      .replaceAll("@password@", password)
      .replaceAll("10.0.0.", `${sees}.`)
      .replaceAll("0.0.0.0", machine?.host ?? "")
      .replaceAll("/usr/lib/postgresql/15", `/usr/lib/postgresql/${version}`)
      .replaceAll("/var/lib/etcd/", join(machine?.directory ?? "", "etcd-"))
      .replaceAll(/\/var\/lib\/postgresql\/(15\/)?/g, join(machine?.directory ?? "", "/"))
  }

  function addressIn(sees: string, { host }: Machine): string {
    return host.replace(direct, sees)
  }

  async function connect(from: number, to: Machine, service: keyof typeof ports): Promise<void> {
    const at = { host: addressIn(`${network}.${from}`, to), port: ports[service] }
    proxies.set(`${from} ${to.name} ${service}`, await startFaultyProxy({ host: to.host, port: ports[service] }, at))
  }

  function proxyOf(from: number, to: Machine, service: keyof typeof ports): FaultyProxy {
    return proxies.get(`${from} ${to.name} ${service}`) ?? fail(`No proxy from ${from} to ${to.name}.`)
  }

  async function startEtcd(machine: Machine): Promise<void> {
    const env = variablesIn(await here("etcd.env", direct, machine))
    machine.etcd = supervise(() =>
      startChild("etcd", [], { signal: "TERM", cwd: "/", env: { ...process.env, ...env }, ...user }),
    )
  }

  const configuration = join(directory, "patroni.yaml")

  async function startPatroni(machine: Machine): Promise<void> {
    const advertised = `${network}.${ofDatabases}`
    const env = variablesIn(await here("patroni.env", `${network}.${numberOf(machine)}`, machine, advertised))
    const started = { signal: "TERM", cwd: "/", env: { ...process.env, ...env, LC_ALL: "C.UTF-8" }, ...user } as const
    machine.patroni = supervise(() => startChild("patroni", [configuration], started))
  }

  function numberOf({ host }: Machine): number {
    return Number(host.split(".")[3])
  }

  function machineOf(wanted: MachineName): Machine {
    return machines.find(({ name }) => name === wanted) ?? fail(wanted)
  }

  /** From the first machine whose Patroni responds. */
  async function members(): Promise<Member[]> {
    for (const { host } of machines) {
      const response = await ask(`http://${host}:${ports.patroni}/cluster`)
      if (response?.ok) return (await response.json()).members ?? []
    }
    return []
  }

  async function until<Found>(find: () => Promise<Found | undefined | false>, what: string): Promise<Found> {
    const since = performance.now()
    for (;;) {
      const found = await find().catch(() => undefined)
      if (found) return found
      if (performance.now() - since > 120_000) {
        throw new Error(`Not within two minutes: ${what}. ${JSON.stringify(await members())}\n${output()}`)
      }
      await sleep(100)
    }
  }

  function output(): string {
    return machines.map(({ name, patroni }) => `${name}:\n${patroni?.output().slice(-6_000)}`).join("\n")
  }

  const haproxies: Supervised[] = []
  async function startHaproxy(index: number): Promise<string> {
    const host = `${direct}.${21 + index}`
    const file = join(directory, `haproxy-${index}.cfg`)
    await writeFile(file, (await here("haproxy.cfg", `${network}.${ofServers}`)).replaceAll("127.0.0.1", host))
    const start = () =>
      startChild(findHaproxy() ?? "haproxy", ["-W", "-f", file], { signal: "TERM", cwd: directory, env: process.env })
    haproxies.push(supervise(start))
    return host
  }

  const cluster = {
    superuserPassword: password,
    members,
    output,
    targets: machines.flatMap(({ host }) => [`${host}:${ports.patroni}`, `${host}:${ports.etcd}`]),
    hostOf: (name: MachineName) => machineOf(name).host,
    healthy: () =>
      until(async () => {
        const found = await members()
        const leader = found.find(({ role, state }) => role === "leader" && state === "running")
        const following = found.filter(
          ({ role, state, timeline, lag }) =>
            role !== "leader" && state === "running" && timeline === leader?.timeline && lag === 0,
        )
        const isSafe = found.some(({ role }) => role === "sync_standby")
        return isSafe && following.length === 2 && leader?.name
      }, "a primary, a synchronous standby and a third machine"),
    failedOver: (from: MachineName) =>
      until(async () => {
        for (const { name, host } of machines) {
          // /primary and /cluster name a machine once it has the lease, before its recovery ends.
          const response = name !== from && (await ask(`http://${host}:${ports.patroni}/patroni`))
          if (response && /^(master|primary)$/.test((await response.json()).role)) return name
        }
      }, `another primary than ${from}`),
    synchronousStandby: () =>
      until(async () => (await members()).find(({ role }) => role === "sync_standby")?.name, "a synchronous standby"),
    etcdLeader: () =>
      until(async () => {
        for (const { name, host } of machines) {
          const response = await ask(`http://${host}:${ports.etcd}/v3/maintenance/status`, {
            method: "POST",
            body: "{}",
          })
          const { leader, header } = response?.ok ? await response.json() : {}
          if (leader && leader === header.member_id) return name
        }
      }, "a leader of etcd"),
    async killPostgres(name: MachineName) {
      const pid = await postmasterOf(machineOf(name))
      process.kill(pid, "SIGKILL")
    },
    killPatroni: async (name: MachineName) => machineOf(name).patroni?.stop(),
    startPatroni: (name: MachineName) => startPatroni(machineOf(name)),
    async killMachine(name: MachineName) {
      await Promise.all([machineOf(name).etcd?.stop(), cluster.killDatabase(name)])
    },
    async killDatabase(name: MachineName) {
      const machine = machineOf(name)
      const postmaster = await postmasterOf(machine).catch(() => 0)
      const backends = await childrenOf(postmaster)
      await Promise.all([
        machine.patroni?.stop(),
        ...[postmaster, ...backends].filter((pid) => pid > 0).map(async (pid) => kill(pid)),
      ])
    },
    async startMachine(name: MachineName) {
      const machine = machineOf(name)
      await startEtcd(machine)
      await startPatroni(machine)
    },
    killEtcd: async (name: MachineName) => machineOf(name).etcd?.kill(),
    killHaproxy: async (index: 0 | 1) => haproxies[index]?.kill(),
    async switchover(from: MachineName, to: MachineName) {
      const headers = { authorization: `Basic ${btoa(`patroni:${password}`)}` }
      const body = JSON.stringify({ leader: from, candidate: to })
      const response = await fetch(`http://${machineOf(from).host}:${ports.patroni}/switchover`, {
        method: "POST",
        headers,
        body,
      })
      if (!response.ok) throw new Error(`The switchover was refused: ${await response.text()}`)
    },
    /** No packet passes from or to the machine; nobody is told. */
    async cutOff(name: MachineName) {
      const machine = machineOf(name)
      const cut = [
        ...machines.map((other) => proxyOf(numberOf(machine), other, "etcd")),
        ...[ofDatabases, ofServers].flatMap((from) => [
          proxyOf(from, machine, "postgres"),
          proxyOf(from, machine, "patroni"),
        ]),
        // Patroni calls the others too.
        ...machines.map((other) => proxyOf(ofDatabases, other, "patroni")),
      ]
      await Promise.all(cut.map((proxy) => proxy.set({ kind: "half-open" })))
    },
    async reconnect() {
      for (const proxy of proxies.values()) await proxy.set({ kind: "none" })
    },
    async stop() {
      await Promise.all(haproxies.map(({ stop }) => stop()))
      await Promise.all(names.map((name) => cluster.killMachine(name)))
      await Promise.all([...proxies.values()].map((proxy) => proxy.stop()))
      await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
    },
  }

  await own(directory)
  await writeFile(configuration, await here("patroni.yaml", direct))
  for (const machine of machines) {
    await own(machine.directory)
    for (const other of machines) await connect(numberOf(machine), other, "etcd")
    for (const from of [ofDatabases, ofServers]) {
      await connect(from, machine, "postgres")
      await connect(from, machine, "patroni")
    }
  }
  await Promise.all(machines.map(startEtcd))
  await cluster.etcdLeader()
  await Promise.all(machines.map(startPatroni))
  const hosts = [await startHaproxy(0), await startHaproxy(1)] as const
  await cluster.healthy()
  return { ...cluster, hosts }
}

/** The lines `NAME=value` of a file of systemd. */
function variablesIn(text: string): Record<string, string> {
  return Object.fromEntries([...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]))
}

async function ask(url: string, init?: RequestInit): Promise<Response | undefined> {
  return fetch(url, { ...init, signal: AbortSignal.timeout(3_000) }).catch(() => undefined)
}

const restartMs = 1_000

function supervise(start: () => Child): Supervised {
  let isStopped = false
  let running: Child
  let output: () => string
  const run = () => {
    running = start()
    output = collect(running)
    void running.exited.then(async () => {
      await sleep(restartMs)
      if (!isStopped) run()
    })
  }
  run()
  return {
    output: () => output(),
    kill: () => killGroup(running),
    async stop() {
      isStopped = true
      await killGroup(running)
    },
  }
}

async function postmasterOf({ directory }: Machine): Promise<number> {
  const [pid] = (await readFile(join(directory, "product/postmaster.pid"), "utf8")).split("\n")
  return Number(pid)
}

/** From proc(5). */
async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8").catch(() => "")
  return text.split(" ").filter(Boolean).map(Number)
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL")
  } catch {
    // It has ended already.
  }
}

function fail(message: string): never {
  throw new Error(message)
}
