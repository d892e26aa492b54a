import { execFile } from "node:child_process"
import { chown, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import pg from "pg"
import { dataDirectoryOf, freePort, runtimeUrlOf, startPostgres } from "@/scripts/postgres"
import { directoryInMemory } from "./directory-in-memory"

const run = promisify(execFile)

/** A streaming standby of a PostgreSQL from npm. */
export type Standby = {
  /** For the runtime role. */
  url: string
  port: number
  /** As the superuser. */
  query: (sql: string) => Promise<Record<string, unknown>[]>
  /** Waits until it has replayed everything that the primary has committed. */
  catchUp: () => Promise<void>
  /** SIGKILL to its postmaster and all its processes. */
  kill: () => Promise<void>
  /** Starts it again after `kill`, at the address of another database if its port is given. */
  restart: (port?: number) => Promise<void>
  stop: () => Promise<void>
}

/** @param primary the URL of its superuser */
export async function startStandby(primary: string, settings: readonly string[] = []): Promise<Standby> {
  const directory = await mkdtemp(join(await directoryInMemory(), "standby-"))
  const data = await dataDirectoryOf(directory)
  await copyCluster(primary, data)
  const port = await freePort()
  const flags = ["fsync=off", "hot_standby_feedback=off", ...settings].flatMap((setting) => ["-c", setting])
  let running = await startPostgres(directory, flags, port)

  async function query(sql: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client(running.url)
    client.on("error", () => {})
    await client.connect()
    try {
      return (await client.query(sql)).rows
    } catch (error) {
      // In conflict with recovery, as when replay goes on.
      if ((error as { code?: string }).code === "40001") return await query(sql)
      throw error
    } finally {
      await client.end()
    }
  }

  return {
    url: runtimeUrlOf(running.url),
    port,
    query,
    async catchUp() {
      const client = new pg.Client(primary)
      await client.connect()
      const { rows } = await client.query("SELECT pg_current_wal_insert_lsn()::text AS lsn")
      await client.end()
      const isReached = async () =>
        (await query(`SELECT pg_last_wal_replay_lsn() >= '${rows[0].lsn}'::pg_lsn AS reached`))[0]?.reached
      while (!(await isReached())) await new Promise((resolve) => setTimeout(resolve, 20))
    },
    async kill() {
      const [pid] = (await readFile(join(data, "postmaster.pid"), "utf8")).split("\n")
      process.kill(Number(pid), "SIGKILL")
      await running.stop()
    },
    async restart(other = port) {
      running = await startPostgres(directory, flags, other)
    },
    async stop() {
      await running.stop()
      await rm(data, { recursive: true, force: true })
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** Without the log, which the standby receives from the primary. PostgreSQL from npm lacks pg_basebackup. */
async function copyCluster(primary: string, data: string): Promise<void> {
  const client = new pg.Client(primary)
  await client.connect()
  const { rows } = await client.query("SELECT current_setting('data_directory') AS source")
  const source: string = rows[0].source
  await client.query("SELECT pg_backup_start('standby', true)")
  await run("sh", [
    "-c",
    `mkdir -p "$1" && tar -C "$0" --exclude ./postmaster.pid --exclude './pg_wal/0*' -c . | tar -C "$1" -xp`,
    source,
    data,
  ])
  const { rows: stopped } = await client.query("SELECT labelfile FROM pg_backup_stop(false)")
  await client.end()
  const { port, username, password } = new URL(primary)
  const address = `host=127.0.0.1 port=${port} user=${username} password=${password}`
  const files = {
    backup_label: stopped[0].labelfile,
    "standby.signal": "",
    "postgresql.auto.conf": `primary_conninfo = '${address}'\n`,
  }
  const { uid, gid } = await stat(source)
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(data, name), text)
    await chown(join(data, name), uid, gid)
  }
  await chown(data, uid, gid)
  await run("chmod", ["700", data])
}
