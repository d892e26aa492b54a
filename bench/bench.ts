import { randomBytes, randomUUID } from "node:crypto"
import { readdir, readFile, writeFile } from "node:fs/promises"
import { cpus, loadavg } from "node:os"
import { join } from "node:path"
import { hashSecret, newSecret, startOf } from "@/lib/keys/secret"
import type { Role } from "@/lib/permissions"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import type { Surface } from "@/lib/surfaces"
import { collect, waitForServer } from "@/scripts/build-and-serve"
import { type Child, startChild } from "@/scripts/child"
import { migrate } from "@/scripts/migrate"
import { freePort, startTemporaryPostgres } from "@/scripts/postgres"
import { root } from "@/scripts/root"
import { sessionCookie } from "@/tests/support/client"
import { createSession, createUser, grantCredits } from "@/tests/support/factories"
import { stopAtExit } from "@/tests/support/lifecycle"
import { ownerPool } from "@/tests/support/owner"

/** The environment of a server: its database and the secret that signs sessions. */
export type Given = { DATABASE_URL: string; AUTH_SECRET: string }

/** BENCH_SHORT=1 selects the small size, which tests the bench itself: its figures mean nothing. */
export function sized<Size>(size: Size, short: Size): Size {
  return process.env.BENCH_SHORT === "1" ? short : size
}

/** Starts a migrated database for this process. @returns the environment with which servers use the same database */
export async function openDatabase(connections: number): Promise<Given> {
  // As durable as in production: a commit waits until it is flushed to disk.
  const postgres = stopAtExit(await startTemporaryPostgres(["-c", "fsync=on", "-c", "full_page_writes=on"]))
  await migrate(postgres.url, postgres.runtimeUrl)
  const given = { DATABASE_URL: postgres.runtimeUrl, AUTH_SECRET: randomBytes(32).toString("hex") }
  const owner = { MIGRATE_DATABASE_URL: postgres.url }
  Object.assign(process.env, given, owner, { BASE_URL: "http://localhost", DATABASE_POOL_MAX: String(connections) })
  return given
}

export type Server = { command: Child; address: string }

/** Starts a server on a free port and waits until it responds at `path`. */
export async function startServer(start: (port: number) => Child, path: string): Promise<Server> {
  const port = await freePort()
  const command = stopAtExit(start(port))
  command.process.stdout?.resume()
  command.process.stderr?.pipe(process.stderr)
  const address = `http://127.0.0.1:${port}`
  if (!(await waitForServer(command, `${address}${path}`))) throw new Error(`The server of ${path} exited.`)
  return { command, address }
}

export type Cookie = { name: string; value: string; url: string }

/** The session cookie of the oldest active account with the role. */
export async function cookieOf(role: Role, { AUTH_SECRET }: Given, url: string): Promise<Cookie> {
  const user = await db().user.findFirstOrThrow({ where: { role, status: "active" }, orderBy: { createdAt: "asc" } })
  const token = { sub: user.id, sid: (await createSession(user)).id }
  const [name = "", value = ""] = (await sessionCookie(token, { secret: AUTH_SECRET })).split("=")
  return { name, value, url }
}

/** A separate npm package with the software that the product is compared with, and the load generator. */
export const rivals = join(root, "bench/rivals")

export async function installRivals(): Promise<void> {
  await checkVersions()
  const lockfile = await readFile(join(rivals, "package-lock.json"), "utf8")
  const record = join(rivals, "node_modules/.installed.json")
  if ((await readFile(record, "utf8").catch(() => "")) === lockfile) return
  console.log("Installing the packages to compare with")
  const install = ["ci", "--ignore-scripts", "--loglevel=error"]
  await succeed(startChild("npm", install, { signal: "TERM", cwd: rivals, env: process.env }))
  await writeFile(record, lockfile)
}

/** Packages that the product and bench/rivals share must have the same version. */
async function checkVersions(): Promise<void> {
  const [own, theirs] = await Promise.all([root, rivals].map(dependenciesOf))
  for (const [name, version] of Object.entries(theirs ?? {})) {
    const expected = own?.[name] ?? version
    if (version !== expected)
      throw new Error(`bench/rivals has ${name} ${version}, but the product has ${expected}: install ${expected}.`)
  }
}

async function dependenciesOf(directory: string): Promise<Record<string, string>> {
  return JSON.parse(await readFile(join(directory, "package.json"), "utf8")).dependencies
}

/** @throws Error with the command's output if its exit code is not 0 */
export async function succeed(command: Child): Promise<void> {
  const output = collect(stopAtExit(command))
  if ((await command.exited) !== 0) throw new Error(output())
}

/** Enough that no key reaches its rate limit during a round. */
export const keyCount = sized(1_000, 200)

/** Keys of new accounts with enough credits, written directly to the database. */
export async function createKeys(surface: Surface, role: string, accounts = 1): Promise<string[]> {
  const owners: string[] = []
  while (owners.length < accounts) {
    const { id } = await createUser({ role })
    await grantCredits(id, 100_000_000)
    owners.push(id)
  }
  const secrets = Array.from({ length: keyCount }, () => newSecret(surface))
  const data = secrets.map((secret, index) => ({
    userId: owners[index % accounts] ?? "",
    surface,
    name: "Test key",
    start: startOf(secret),
    hash: hashSecret(secret),
    requestId: randomUUID(),
  }))
  await db().apiKey.createMany({ data })
  return secrets
}

/** Of a process, its descendants and their ended children: fields 4 and 14 to 17 of /proc/pid/stat (Linux only). */
export async function cpuMsOf(pid = 0): Promise<number> {
  const processes = new Map<number, { parent: number; ticks: number }>()
  for (const entry of await readdir("/proc")) {
    if (!/^\d+$/.test(entry)) continue
    const stat = await readFile(`/proc/${entry}/stat`, "utf8").catch(() => "")
    // The name, field 2, may contain any character; it ends at the last parenthesis.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    processes.set(Number(entry), {
      parent: Number(fields[1]),
      ticks: fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0),
    })
  }
  const isInTree = (id: number): boolean => id === pid || (id > 1 && isInTree(processes.get(id)?.parent ?? 0))
  const ticks = [...processes].map(([id, process]) => (isInTree(id) ? process.ticks : 0))
  // A clock tick is 10 ms on every Linux that Node supports.
  return 10 * ticks.reduce((sum, count) => sum + count, 0)
}

export async function databasePid(): Promise<number> {
  const { rows } = await ownerPool().query("SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int AS pid")
  return rows[0].pid
}

export async function printConditions(...more: string[]): Promise<void> {
  const { rows } = await pool().query<{ version: string; fsync: string; commit: string }>(
    `SELECT current_setting('server_version') AS version, current_setting('fsync') AS fsync,
            current_setting('synchronous_commit') AS commit`,
  )
  const [database] = rows
  console.log(
    [
      `PostgreSQL ${database?.version}, fsync ${database?.fsync}, synchronous_commit ${database?.commit}`,
      `Node ${process.version}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} at start`,
      ...more,
    ].join("\n"),
  )
}

/** @param fraction 0.5 for the median */
export function quantile(numbers: readonly number[], fraction: number): number {
  const sorted = numbers.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))] ?? Number.NaN
}

export function median(numbers: readonly number[]): number {
  return quantile(numbers, 0.5)
}
