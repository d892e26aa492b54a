import { mkdtemp, readFile, rm } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import pg from "pg"
import { collect, type Given, serve, waitForServer } from "@/scripts/build-and-serve"
import type { Child } from "@/scripts/child"
import { dataDirectoryOf, startPostgres } from "@/scripts/postgres"

// What is killed: the database and the servers. Each comes back at its own address, as a supervisor would bring it.

export type Database = {
  url: string
  crash: (awayMs: number) => Promise<void>
  /** Stops every process of it where it is; returns what lets them go on. */
  freeze: () => Promise<() => void>
  stop: () => Promise<void>
}

/** A PostgreSQL as durable as in production: what it has acknowledged outlives a crash. */
export async function startDatabase(flags: readonly string[] = []): Promise<Database> {
  const directory = await mkdtemp(join(tmpdir(), "tsk-chaos-"))
  const data = await dataDirectoryOf(directory)
  const port = await steadyPort()
  let running = await startPostgres(directory, flags, port)
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
    // The first of them last: it would take note of the others.
    const pids = [...rows.map(({ pid }) => pid), await postmaster()]
    for (const pid of pids) process.kill(pid, "SIGSTOP")
    return () => {
      for (const pid of pids) process.kill(pid, "SIGCONT")
    }
  }

  /** As `pg_ctl stop -m immediate`: no connection is asked, nothing is written, the next start has to recover. */
  async function crashOnce(awayMs: number): Promise<void> {
    process.kill(await postmaster(), "SIGQUIT")
    await running.stop()
    await new Promise((done) => setTimeout(done, awayMs))
    running = await startPostgres(directory, flags, port)
  }

  return {
    url: running.url,
    crash(awayMs) {
      restart = crashOnce(awayMs)
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
  /** Returns once it answers. */
  start: () => Promise<void>
  kill: () => Promise<void>
  /** What it has printed lately. */
  output: () => string
  stop: () => Promise<void>
}

/** @param onError called with each line in which the server reports an error that it did not expect */
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
      if (!(await waitForServer(running, `${address}/api/v1/me`))) throw new Error(`A server ended:\n\n${output()}`)
    },
    output: () => output(),
    async kill() {
      if (!running || !isAlive(running)) throw new Error(`A server ended by itself:\n\n${output()}`)
      await end(running)
    },
    async stop() {
      if (running && isAlive(running)) await end(running)
    },
  }
}

function isAlive({ process: { exitCode, signalCode } }: Child): boolean {
  return exitCode === null && signalCode === null
}

/** Its whole process group: the server, and the shell that guards it. */
async function end({ process: { pid }, exited }: Child): Promise<void> {
  if (pid) process.kill(-pid, "SIGKILL")
  await exited
}

/**
 * A free port below those from which the system serves outgoing connections: one of these could be taken by a client
 * while the server it belongs to is away.
 */
async function steadyPort(): Promise<number> {
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
