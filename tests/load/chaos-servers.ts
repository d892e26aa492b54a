import { mkdtemp, readFile, rm } from "node:fs/promises"
import { createServer } from "node:net"
import { join } from "node:path"
import pg from "pg"
import { collect, type Given, serve, waitForServer } from "@/scripts/build-and-serve"
import type { Child } from "@/scripts/child"
import { migrate } from "@/scripts/migrate"
import { dataDirectoryOf, startPostgres } from "@/scripts/postgres"
import { directoryInMemory } from "@/tests/support/directory-in-memory"

// The database and the servers that tests kill. Each restarts on the same port, as under a supervisor.

export type Database = {
  /** For the runtime role, with which servers connect. */
  url: string
  ownerUrl: string
  crash: (downMs: number) => Promise<void>
  /** Suspends every process of the database; returns a function that resumes them. */
  freeze: () => Promise<() => void>
  stop: () => Promise<void>
}

/** A migrated PostgreSQL as durable as in production: committed data survives a crash. */
export async function startDatabase(flags: readonly string[] = []): Promise<Database> {
  const directory = await mkdtemp(join(await directoryInMemory(), "chaos-"))
  const data = await dataDirectoryOf(directory)
  const port = await steadyPort()
  let running = await startPostgres(directory, flags, port)
  await migrate(running.url, running.runtimeUrl)
  let restart = Promise.resolve()

  async function postmaster(): Promise<number> {
    const [pid] = (await readFile(join(data, "postmaster.pid"), "utf8")).split("\n")
    return Number(pid)
  }

  async function freeze(): Promise<() => void> {
    const client = new pg.Client(running.url)
    await client.connect()
    const { rows } = await client.query<{ pid: number }>(
      "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()",
    )
    await client.end()
    // The postmaster is suspended last: it would react to a change of its child processes.
    const pids = [...rows.map(({ pid }) => pid), await postmaster()]
    for (const pid of pids) process.kill(pid, "SIGSTOP")
    return () => {
      for (const pid of pids) process.kill(pid, "SIGCONT")
    }
  }

  /** Like `pg_ctl stop -m immediate`: connections are cut, no data is flushed, and the next start has to recover. */
  async function crashOnce(downMs: number): Promise<void> {
    process.kill(await postmaster(), "SIGQUIT")
    await running.stop()
    await new Promise((done) => setTimeout(done, downMs))
    running = await startPostgres(directory, flags, port)
  }

  return {
    url: running.runtimeUrl,
    ownerUrl: running.url,
    crash(downMs) {
      restart = crashOnce(downMs)
      return restart
    },
    freeze,
    async stop() {
      await restart.catch(() => {})
      await running.stop()
      await rm(data, { recursive: true, force: true })
      await rm(directory, { recursive: true, force: true })
    },
  }
}

export type Server = {
  address: string
  /** Resolves once the server responds. */
  start: () => Promise<void>
  kill: () => Promise<void>
  /** The last lines that the server printed. */
  output: () => string
  stop: () => Promise<void>
}

/** @param onError called with each log line of the event `internal`, an unexpected error */
export async function prepareServer(given: Given, onError: (line: string) => void): Promise<Server> {
  const port = await steadyPort()
  const address = `http://127.0.0.1:${port}`
  let running: Child | undefined
  let output = () => ""
  return {
    address,
    async start() {
      running = serve(port, given)
      output = collect(running)
      running.process.stdout?.on("data", (chunk) => {
        for (const line of String(chunk).split("\n")) if (line.includes('"event":"internal"')) onError(line)
      })
      if (!(await waitForServer(running, `${address}/api/v1/me`))) throw new Error(`A server exited:\n\n${output()}`)
    },
    output: () => output(),
    async kill() {
      if (!running || !isAlive(running)) throw new Error(`A server exited on its own:\n\n${output()}`)
      await killGroup(running)
    },
    async stop() {
      if (running && isAlive(running)) await killGroup(running)
    },
  }
}

function isAlive({ process: { exitCode, signalCode } }: Child): boolean {
  return exitCode === null && signalCode === null
}

/** Kills the whole process group: the program and the shell that guards it. */
export async function killGroup({ process: { pid }, exited }: Child): Promise<void> {
  if (pid) process.kill(-pid, "SIGKILL")
  await exited
}

/**
 * A free port below the ephemeral range: the system could assign an ephemeral port to an outgoing connection while the
 * server is down.
 */
export async function steadyPort(): Promise<number> {
  for (;;) {
    const port = 15_000 + Math.floor(Math.random() * 15_000)
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((done) => {
    const server = createServer()
    server.on("error", () => done(false))
    server.listen(port, "127.0.0.1", () => server.close(() => done(true)))
  })
}
