import { randomBytes } from "node:crypto"
import { cpus, loadavg } from "node:os"
import { pool } from "@/lib/db"
import { type Guarded, stopOnSignal } from "@/scripts/guarded"
import { migrate } from "@/scripts/migrate"
import { build, isBuilt, type serve, untilAnswers } from "@/scripts/next"
import { freePort, startTemporaryPostgres } from "@/scripts/postgres"

/** What a server is told: its database, and the secret that signs sessions. */
export type Given = Parameters<typeof serve>[1]

/** Everything that runs, in the order in which it was started; it ends in the opposite order. */
const running: { stop: () => Promise<void> }[] = []
let stopping = false

/** Runs a bench and ends the process; nothing that was started outlives it. */
export async function runBench(main: () => Promise<void>): Promise<void> {
  stopOnSignal(async () => {
    stopping = true
    await stopAll()
    process.exit(130)
  })
  try {
    await main()
    await stopAll()
    process.exit(0)
  } catch (error) {
    // What ends because we stop it has not failed.
    if (stopping) return
    console.error(error)
    await stopAll()
    process.exit(1)
  }
}

/** Ends with the bench. */
export function endLater<Command extends { stop: () => Promise<void> }>(command: Command): Command {
  running.push(command)
  return command
}

/** A migrated database for this process, and what servers need to use it too. */
export async function openDatabase(connections: number): Promise<Given> {
  // As durable as in production: a commit waits for the disk.
  const postgres = endLater(await startTemporaryPostgres(["-c", "fsync=on", "-c", "full_page_writes=on"]))
  await migrate(postgres.url)
  const given = { DATABASE_URL: postgres.url, AUTH_SECRET: randomBytes(32).toString("hex") }
  Object.assign(process.env, given, { BASE_URL: "http://localhost", DATABASE_POOL_MAX: String(connections) })
  return given
}

/** Builds the product unless that is done. */
export async function provideBuild(): Promise<void> {
  if (await isBuilt()) return
  console.log("Building the application, which takes a minute")
  const { ok, output } = await build(endLater)
  if (!ok) throw new Error(`The build failed:\n\n${output}`)
}

export type Server = { command: Guarded; address: string }

/** Starts a server on a free port and waits until it answers at `path`. */
export async function startServer(start: (port: number) => Guarded, path: string): Promise<Server> {
  const port = await freePort()
  const command = endLater(start(port))
  command.process.stdout?.resume()
  command.process.stderr?.pipe(process.stderr)
  const address = `http://127.0.0.1:${port}`
  if (!(await untilAnswers(command, `${address}${path}`))) throw new Error(`The server of ${path} ended.`)
  return { command, address }
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
      `Node ${process.version}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} when it began`,
      ...more,
    ].join("\n"),
  )
}

/** @param part 0.5 for the median */
export function quantile(numbers: readonly number[], part: number): number {
  const sorted = numbers.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}

export function median(numbers: readonly number[]): number {
  return quantile(numbers, 0.5)
}

async function stopAll(): Promise<void> {
  for (const { stop } of running.splice(0).reverse()) await stop()
}
