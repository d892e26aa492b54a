import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { chown, cp, lstat, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { createServer } from "node:net"
import { arch, platform, tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { promisify } from "node:util"
import pg from "pg"
import { withSettings } from "@/lib/platform/postgres/settings"
import { startChild } from "./child"
import { completePackages } from "./install.mjs"

const run = promisify(execFile)
const password = "postgres"

/** A root-owned directory for files that the user `postgres` needs if it cannot enter the project directory. */
const sharedDirectory = "/var/tmp/embedded-postgres"

/** `url` is for the owner of all tables, `runtimeUrl` for the role with which the product connects. */
export type RunningPostgres = { url: string; runtimeUrl: string; stop: () => Promise<void> }

type Urls = Omit<RunningPostgres, "stop">

type Identity = { uid?: number; gid?: number }

/**
 * Starts the PostgreSQL from npm, on a free port unless one is given, with its data in `directory`, which is created if
 * it is missing. If a server already runs on that directory, that server is used and left running.
 */
export async function startPostgres(
  directory: string,
  flags: readonly string[] = [],
  givenPort?: number,
): Promise<RunningPostgres> {
  const data = await dataDirectoryOf(directory)
  const running = await runningUrls(data)
  if (running) return { ...running, stop: async () => {} }

  const native = nativeDirectory(`@embedded-postgres/${platform()}-${arch()}`)
  completePackages()
  const identity = await unprivilegedUser()
  const bin = await binaries(native)
  if (!(await exists(join(data, "PG_VERSION")))) await initialize(data, bin, identity)
  const port = givenPort ?? (await freePort())
  const settings = { listen_addresses: "127.0.0.1", unix_socket_directories: "", timezone: "UTC" }
  const server = startChild(
    join(bin, "postgres"),
    [
      "-D",
      data,
      "-p",
      String(port),
      ...Object.entries(settings).flatMap(([key, value]) => ["-c", `${key}=${value}`]),
    ].concat(flags),
    { signal: "INT", cwd: "/", env: process.env, ...identity },
  )
  const log: string[] = []
  const ready = new Promise<boolean>((done) => {
    server.process.stderr?.on("data", (chunk) => {
      if (log.length < 100) log.push(String(chunk))
      if (/ready to accept (read-only )?connections/.test(String(chunk))) done(true)
    })
    server.exited.then(() => done(false))
  })
  if (!(await ready)) throw new Error(`The embedded PostgreSQL did not start in ${data}:\n${log.join("")}`)
  return { ...urlsOf(port), stop: server.stop }
}

/** Starts a cluster without durability below `parent`, which is deleted when it is stopped. */
export async function startTemporaryPostgres(
  flags: readonly string[] = [],
  parent = tmpdir(),
): Promise<RunningPostgres> {
  const directory = await mkdtemp(join(parent, "embedded-postgres-"))
  const postgres = await startPostgres(directory, ["-c", "fsync=off", "-c", "full_page_writes=off", ...flags])
  return {
    ...postgres,
    async stop() {
      await postgres.stop()
      await rm(await dataDirectoryOf(directory), { recursive: true, force: true })
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** The directory that actually holds the data of `directory`. */
export async function dataDirectoryOf(directory: string): Promise<string> {
  if (await isAccessibleToAll(dirname(directory))) return directory
  return join(sharedDirectory, createHash("sha256").update(directory).digest("hex").slice(0, 16))
}

/** Creates the cluster under a temporary name, then renames it: an interrupted start leaves no partial cluster. */
async function initialize(data: string, bin: string, identity: Identity): Promise<void> {
  const draft = `${data}.new`
  const passwordFile = `${data}.password`
  if (dirname(data) === sharedDirectory) await makeSharedDirectory()
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft, { recursive: true })
  await writeFile(passwordFile, `${password}\n`)
  if (identity.uid !== undefined && identity.gid !== undefined) await chown(draft, identity.uid, identity.gid)
  const options = ["--username=postgres", "--auth=password", "--encoding=UTF8", "--locale=C", "--no-sync"]
  try {
    await run(join(bin, "initdb"), [`--pgdata=${draft}`, `--pwfile=${passwordFile}`, ...options], {
      cwd: "/",
      ...identity,
    })
  } finally {
    await rm(passwordFile, { force: true })
  }
  await rm(data, { recursive: true, force: true })
  await rename(draft, data)
}

/** The directory of the PostgreSQL programs for this machine. */
async function binaries(native: string): Promise<string> {
  if (await isAccessibleToAll(native)) return join(native, "bin")

  const { version } = JSON.parse(await readFile(join(native, "../package.json"), "utf8"))
  const copy = join(sharedDirectory, version)
  if (!(await exists(copy))) {
    await makeSharedDirectory()
    const draft = `${copy}.${process.pid}`
    await cp(native, draft, { recursive: true, verbatimSymlinks: true })
    await rename(draft, copy).catch(() => rm(draft, { recursive: true }))
  }
  return join(copy, "bin")
}

function nativeDirectory(name: string): string {
  try {
    return resolve(dirname(createRequire(import.meta.url).resolve(name)), "../native")
  } catch {
    throw new Error(`The package ${name} is not installed: set DATABASE_URL to your own PostgreSQL.`)
  }
}

/** Every user may write to /var/tmp, so a directory that another user has created there is refused. */
async function makeSharedDirectory(): Promise<void> {
  await mkdir(sharedDirectory, { recursive: true, mode: 0o755 })
  const { uid, mode } = await lstat(sharedDirectory)
  if (uid !== 0 || (mode & 0o022) !== 0)
    throw new Error(`${sharedDirectory} must be owned by root and writable only by root: remove it.`)
}

/** PostgreSQL refuses to run as root, so root runs it as the user `postgres`, which is created if it does not exist. */
export async function unprivilegedUser(): Promise<Identity> {
  if (!isRoot()) return {}
  const idOf = async (flag: string) => Number((await run("id", [flag, "postgres"])).stdout)
  try {
    return { uid: await idOf("-u"), gid: await idOf("-g") }
  } catch {
    await run("useradd", ["--system", "--user-group", "--no-create-home", "--shell", "/bin/false", "postgres"])
    return { uid: await idOf("-u"), gid: await idOf("-g") }
  }
}

async function isAccessibleToAll(path: string): Promise<boolean> {
  if (!isRoot()) return true
  const parent = dirname(path)
  const mode = await stat(path).then(
    (found) => found.mode,
    () => 0o755, // does not exist yet
  )
  return (mode & 0o001) !== 0 && (parent === path || (await isAccessibleToAll(parent)))
}

function isRoot(): boolean {
  return process.getuid?.() === 0
}

/** Whether a server runs on the data of `directory`. */
export async function isRunning(directory: string): Promise<boolean> {
  return (await runningUrls(await dataDirectoryOf(directory))) !== undefined
}

/** The URLs of the server that runs on the directory. Line 4 of postmaster.pid is its port (PostgreSQL, miscinit.c). */
async function runningUrls(directory: string): Promise<Urls | undefined> {
  const file = await readFile(join(directory, "postmaster.pid"), "utf8").catch(() => "")
  const port = Number(file.split("\n")[3])
  if (!port) return undefined
  const urls = urlsOf(port)
  const client = new pg.Client({ connectionString: withSettings(urls.url), connectionTimeoutMillis: 2_000 })
  client.on("error", () => {})
  try {
    await client.connect()
    const { rows } = await client.query("SELECT current_setting('data_directory') AS directory")
    return rows[0].directory === directory ? urls : undefined
  } catch {
    return undefined
  } finally {
    await client.end().catch(() => {})
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

function urlsOf(port: number): Urls {
  const url = `postgresql://postgres:${password}@127.0.0.1:${port}/postgres`
  return { url, runtimeUrl: runtimeUrlOf(url) }
}

export function runtimeUrlOf(ownerUrl: string): string {
  return ownerUrl.replace("//postgres:", "//runtime:")
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
