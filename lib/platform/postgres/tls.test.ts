import { execFile } from "node:child_process"
import { chmod, chown, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { PrismaPg } from "@prisma/adapter-pg"
import pg from "pg"
import { beforeAll, expect, test } from "vitest"
import { PrismaClient } from "@/generated/prisma/client"
import { migrate } from "@/scripts/migrate"
import { type RunningPostgres, startTemporaryPostgres } from "@/scripts/postgres"
import { isDatabaseUnavailable } from "./failures"
import { withSettings } from "./settings"

// A PostgreSQL whose certificate a private authority has signed, for 127.0.0.1 and not for localhost.

const run = promisify(execFile)
let postgres: RunningPostgres
let authority = ""

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), "tls-"))
  authority = join(folder, "authority.crt")
  const openssl = (command: string) => run("openssl", command.split(" "), { cwd: folder })
  await chmod(folder, 0o755)
  await openssl(
    "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout authority.key -out authority.crt",
  )
  await openssl("req -newkey rsa:2048 -nodes -subj /CN=database -keyout server.key -out server.csr")
  await writeFile(join(folder, "names"), "subjectAltName=IP:127.0.0.1")
  const signed = "-CA authority.crt -CAkey authority.key -CAcreateserial -days 2 -extfile names -out server.crt"
  await openssl(`x509 -req -in server.csr ${signed}`)
  await chmod(join(folder, "server.key"), 0o600)
  if (process.getuid?.() === 0) {
    const idOf = async (flag: string) => Number((await run("id", [flag, "postgres"])).stdout)
    await chown(join(folder, "server.key"), await idOf("-u"), await idOf("-g"))
  }
  const settings = ["ssl=on", `ssl_cert_file=${folder}/server.crt`, `ssl_key_file=${folder}/server.key`]
  postgres = await startTemporaryPostgres(settings.flatMap((setting) => ["-c", setting]))
  return async () => {
    await postgres.stop()
    await rm(folder, { recursive: true, force: true })
  }
})

const encrypted = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"

/** Whether a session of a statement, and one of Prisma, is encrypted. */
async function isEncrypted(url: string) {
  const pool = new pg.Pool({ connectionString: withSettings(url) })
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool) })
  try {
    const { rows } = await pool.query(encrypted)
    return [rows[0].ssl, (await prisma.$queryRawUnsafe<{ ssl: boolean }[]>(encrypted))[0]?.ssl]
  } finally {
    await prisma.$disconnect()
    await pool.end()
  }
}

test("with the file of a private authority every connection is encrypted and verified", { tags: "long" }, async () => {
  const verified = `?sslmode=verify-full&sslrootcert=${authority}`
  await migrate(postgres.url + verified, postgres.runtimeUrl + verified)
  expect(await isEncrypted(postgres.runtimeUrl + verified)).toEqual([true, true])
  expect(await isEncrypted(`${postgres.runtimeUrl}?sslmode=require&sslrootcert=${authority}`)).toEqual([true, true])
})

test.each([
  ["without the file of the authority", "127.0.0.1", "?sslmode=verify-full", /unable to verify the first certificate/],
  ["with `require` alone, which verifies too,", "127.0.0.1", "?sslmode=require", /unable to verify the first cert/],
  ["under a name that is not in the certificate", "localhost", "?sslmode=verify-full&sslrootcert=", /altnames/],
])(
  "%s no connection is made, and the database counts as unavailable",
  {
    tags: "long",
  },
  async (_case, host, query, message) => {
    const url = `${postgres.url.replace("127.0.0.1", host)}${query.replace(/=$/, `=${authority}`)}`
    const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: withSettings(url) }) })
    const [statement, read] = await Promise.allSettled([isEncrypted(url), prisma.user.count()])
    await prisma.$disconnect()
    for (const result of [statement, read]) {
      expect(result.status === "rejected" && String(result.reason)).toMatch(message)
      expect(result.status === "rejected" && isDatabaseUnavailable(result.reason)).toBe(true)
    }
  },
)
