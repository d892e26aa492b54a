import { randomUUID } from "node:crypto"
import { existsSync, readdirSync } from "node:fs"
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import pg from "pg"
import { collect } from "@/scripts/build-and-serve"
import { startChild } from "@/scripts/child"
import { root } from "@/scripts/root"
import { steadyPort } from "@/tests/load/chaos-servers"

// A cluster of Debian's PostgreSQL, made, backed up and restored with the commands of docs/backup.md, but with another
// name, port and backup folder. PostgreSQL from npm lacks the programs for this.

const installed = "/usr/lib/postgresql"
const data = "/var/lib/postgresql"

/** The version of Debian's PostgreSQL that is installed, the newest if there are several. */
export function findDebianPostgres(): string | undefined {
  const versions = existsSync(installed) ? readdirSync(installed) : []
  return versions
    .filter((version) => existsSync(join(installed, version, "bin/postgres")))
    .sort((one, other) => Number(other) - Number(one))[0]
}

export type DebianCluster = {
  /** For the owner of an empty database; `url` is for a role that does not exist yet. */
  ownerUrl: string
  url: string
  /** Runs commands of docs/backup.md after the given replacements. @returns their output */
  run: (commands: string, replacing?: Readonly<Record<string, string>>) => Promise<string>
  /** Writes the configuration of docs/backup.md: of pgBackRest, and of PostgreSQL. */
  configure: (pgbackrest: string, postgres: string) => Promise<void>
  /** Kills the server and removes its data. */
  destroy: () => Promise<void>
  remove: () => Promise<void>
}

export async function createDebianCluster(): Promise<DebianCluster> {
  const version = findDebianPostgres() ?? fail("Debian's PostgreSQL is not installed.")
  const name = `restore${process.pid}`
  const port = await steadyPort()
  const directory = await mkdtemp(join(tmpdir(), "restore-"))
  const repository = join(directory, "repository")
  const configuration = join(directory, "pgbackrest.conf")
  const own = join(data, version, name)
  // The archive command reads its environment from a file.
  const env = { ...process.env, PGBACKREST_CONFIG: configuration, PGPORT: String(port), LC_ALL: "C.UTF-8" }

  const here = (text: string) =>
    text
      .replaceAll("/15/main", `/${version}/${name}`)
      .replaceAll("15 main", `${version} ${name}`)
      .replaceAll("--stanza=main", `--stanza=${name}`)
      .replaceAll("[main]", `[${name}]`)
      .replaceAll("/var/lib/pgbackrest", repository)
      .replaceAll("pg1-port=5432", `pg1-port=${port}`)
      .replaceAll("PASSPHRASE", randomUUID())

  async function shell(script: string): Promise<string> {
    const child = startChild("/bin/sh", ["-euc", script], { signal: "TERM", cwd: "/", env })
    const output = collect(child)
    if ((await child.exited) !== 0) throw new Error(`${script}\n\n${output()}`)
    return output()
  }

  async function remove(): Promise<void> {
    await shell(`pg_dropcluster --stop ${version} ${name} || true`)
    for (const entry of await readdir(join(data, version)).catch(() => [])) {
      if (entry === name || entry.startsWith(`${name}.`)) await rm(join(data, version, entry), { recursive: true })
    }
    await rm(directory, { recursive: true, force: true })
  }

  try {
    await shell(`
      chown postgres: ${directory}
      pg_createcluster ${version} ${name} --port=${port} --start-conf=manual --encoding=UTF8 --locale=C.UTF-8
      echo "fsync = off" >> /etc/postgresql/${version}/${name}/postgresql.conf
      pg_ctlcluster ${version} ${name} start
      runuser -u postgres -- psql -Xqc "CREATE ROLE owner LOGIN CREATEROLE PASSWORD 'owner'" -c "CREATE DATABASE product OWNER owner"`)
  } catch (error) {
    await remove()
    throw error
  }

  return {
    ownerUrl: `postgresql://owner:owner@127.0.0.1:${port}/product`,
    url: `postgresql://runtime:runtime@127.0.0.1:${port}/product`,
    run(commands, replacing = {}) {
      let script = here(commands)
      for (const [from, to] of Object.entries(replacing)) {
        if (!script.includes(from)) throw new Error(`docs/backup.md does not have ${from}.`)
        script = script.replaceAll(from, to)
      }
      return shell(script)
    },
    async configure(pgbackrest, postgres) {
      await shell(`install -d -m 750 -o postgres -g postgres ${repository}`)
      await writeFile(configuration, here(pgbackrest))
      await shell(`chown postgres: ${configuration}; chmod 600 ${configuration}`)
      await writeFile(`/etc/postgresql/${version}/${name}/environment`, `PGBACKREST_CONFIG = '${configuration}'\n`)
      await writeFile(`/etc/postgresql/${version}/${name}/conf.d/backup.conf`, here(postgres))
    },
    async destroy() {
      const [pid] = (await readFile(join(own, "postmaster.pid"), "utf8")).split("\n")
      process.kill(Number(pid), "SIGKILL")
      await rm(own, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
      // A process that is killed exists for a moment longer, and its other processes end when they notice.
      while (exists(Number(pid)) || (await accepts(port))) await sleep(50)
    },
    remove,
  }
}

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

async function accepts(port: number): Promise<boolean> {
  const client = new pg.Client({ host: "127.0.0.1", port, user: "owner", password: "owner", database: "product" })
  client.on("error", () => {})
  try {
    await client.connect()
    return true
  } catch (error) {
    return (error as { code?: string }).code !== "ECONNREFUSED"
  } finally {
    await client.end().catch(() => {})
  }
}

/** The code blocks of a section of docs/backup.md, without their indentation. */
export async function blocksOf(heading: string): Promise<string[]> {
  const text = await readFile(join(root, "docs/backup.md"), "utf8")
  const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? fail(`No section ${heading}.`)
  return [...section.matchAll(/^( *)```\w+\n([\s\S]*?)^ *```$/gm)].map(([, indent = "", block = ""]) =>
    block.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
  )
}

function fail(message: string): never {
  throw new Error(message)
}
