import { execFile } from "node:child_process"
import { randomUUID } from "node:crypto"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, test } from "vitest"
import { sealAuditLog } from "@/lib/audit/seals"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { serve, waitForServer } from "@/scripts/build-and-serve"
import { migrate } from "@/scripts/migrate"
import { freePort } from "@/scripts/postgres"
import { root } from "@/scripts/root"
import { builtActions, callAction, sessionOf } from "@/tests/support/client"
import { blocksOf, createDebianCluster, type DebianCluster } from "@/tests/support/debian-cluster"
import { exchange } from "@/tests/support/exchange"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { findViolations } from "@/tests/support/ledger-invariants"
import { ownerPool, useDatabase } from "@/tests/support/owner"
import { work } from "@/tests/support/work"

// Backs up a database under load, loses it, and restores it twice to a moment between two acknowledged runs, with the
// commands of docs/backup.md. The tests are the steps of one rehearsal, in order.

/** A run and the times, by this machine's clock, between which it was sent and acknowledged. */
type Call = { key: string; idempotencyKey: string; sent: number; told?: { at: number; body: string } }

const run = promisify(execFile)
const clients = 8
const actions = await builtActions()
const took: Record<string, number> = {}

let cluster: DebianCluster
let server: Awaited<ReturnType<typeof startServer>>
let directory: string
let log: string
const lines: string[] = []
const calls: Call[] = []

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "restore-log-"))
  log = join(directory, "servers.log")
  cluster = await createDebianCluster()
  useDatabase(cluster)
  await migrate(cluster.ownerUrl, cluster.url)
  server = await startServer()
})

afterAll(async () => {
  await server?.stop()
  await Promise.all([pool().end(), ownerPool().end()])
  await cluster?.remove()
  await rm(directory, { recursive: true, force: true })
  console.log(
    Object.entries(took)
      .map(([what, ms]) => `${what}: ${(ms / 1000).toFixed(1)} s`)
      .join("\n"),
  )
})

async function startServer() {
  const { DATABASE_URL = "", AUTH_SECRET = "", BASE_URL = "" } = process.env
  const port = await freePort()
  const given = { DATABASE_URL, AUTH_SECRET, BASE_URL, TRUSTED_PROXY_HOPS: "1", STAFF_MFA: "off", LOG_LEVEL: "info" }
  const child = serve(port, given)
  for (const stream of [child.process.stdout, child.process.stderr])
    stream?.on("data", (text) => lines.push(String(text)))
  const address = `http://127.0.0.1:${port}`
  if (!(await waitForServer(child, `${address}/readyz`))) throw new Error(`The server exited:\n\n${lines.join("")}`)
  return { address, stop: child.stop }
}

async function timed<Result>(what: string, act: () => Promise<Result>): Promise<Result> {
  const started = performance.now()
  const result = await act()
  took[what] = performance.now() - started
  return result
}

async function customer() {
  const user = await createUser()
  await grantCredits(user.id, 1_000_000)
  const { secret, key } = await createKey({ user, surface: "user" })
  return { id: user.id, key: secret, keyId: key.id }
}

function send({ key, idempotencyKey }: Call) {
  const headers = { "x-api-key": key, "content-type": "application/json", "idempotency-key": idempotencyKey }
  return exchange(server.address + work.path, { method: "POST", headers, body: work.body })
}

async function call(key: string): Promise<Call> {
  const made: Call = { key, idempotencyKey: randomUUID(), sent: Date.now() }
  calls.push(made)
  const response = await send(made)
  if (response?.status === 200) made.told = { at: Date.now(), body: response.body }
  return made
}

/** Customers who make runs until the returned function is called. */
async function load(): Promise<() => Promise<void>> {
  const customers = await Promise.all(Array.from({ length: clients }, customer))
  let stopped = false
  const loops = customers.map(async ({ key }) => {
    while (!stopped) await Promise.all([call(key), sleep(30)])
  })
  return async () => {
    stopped = true
    await Promise.all(loops)
  }
}

async function act(
  name: string,
  path: string,
  as: { cookie: string },
  fields: Record<string, string>,
): Promise<string> {
  const action = actions.find((known) => known.name === name) ?? expect.fail(`There is no action ${name}.`)
  const { text } = await callAction(server, action, { path, fields, headers: as })
  expect(text, name).toContain('"ok":true')
  return text
}

async function statusOf(key: string): Promise<number | undefined> {
  return (await exchange(`${server.address}/api/v1/me`, { headers: { "x-api-key": key } }))?.status
}

/** A moment of the database, to the microsecond as PostgreSQL compares it. */
type Moment = { text: string; at: number }

async function clock(): Promise<Moment> {
  const { rows } = await pool().query<{ now: string }>(
    "SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') AS now",
  )
  const text = `${rows[0]?.now}+00`
  return { text, at: Date.parse(text) }
}

/** All WAL so far is in the archive. */
async function archived(): Promise<void> {
  const wal = (await cluster.run(`runuser -u postgres -- psql -XAtc "SELECT pg_walfile_name(pg_switch_wal())"`)).trim()
  const last = `runuser -u postgres -- psql -XAtc "SELECT last_archived_wal >= '${wal}' FROM pg_stat_archiver"`
  await expect.poll(() => cluster.run(last), { timeout: 60_000, interval: 200 }).toBe("t\n")
}

async function restore({ text }: Moment): Promise<void> {
  const [commands = "", waiting = ""] = await blocksOf("Point-in-time restore")
  await cluster.run(commands, { "2026-01-31 12:00:00.000+00": text })
  await cluster.run(waiting)
}

/** The command with the log of the servers. @param code the expected exit code */
async function script(code: number, name: string, ...args: string[]): Promise<string> {
  const started = run(process.execPath, ["--import", "tsx", `scripts/${name}.ts`, ...args], { cwd: root })
  const ended = await started.then(
    ({ stdout }) => ({ code: 0, stdout, stderr: "" }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  )
  expect(ended.code, ended.stderr).toBe(code)
  return ended.stdout
}

type Row = { id: string; response_body: string; state: string }

async function runsOf({ idempotencyKey }: Call): Promise<Row[]> {
  const { rows } = await pool().query<Row>("SELECT * FROM runs WHERE idempotency_key = $1", [idempotencyKey])
  return rows
}

/** Expects the runs that were acknowledged before the moment, and none that was sent after it. */
async function expectRunsOf(moment: Moment): Promise<Call[]> {
  const { rows } = await pool().query<{ key: string; body: string }>(
    "SELECT idempotency_key AS key, response_body AS body FROM runs WHERE state = 'settled'",
  )
  const kept = new Map(rows.map(({ key, body }) => [key, body]))
  const told = calls.filter((call) => call.told)
  const before = told.filter((call) => (call.told?.at ?? 0) < moment.at)
  expect(before.length).toBeGreaterThan(20)
  expect(before.filter((call) => kept.get(call.idempotencyKey) !== call.told?.body)).toEqual([])
  const after = calls.filter(({ sent }) => sent > moment.at)
  expect(after.length).toBeGreaterThan(20)
  expect(after.filter(({ idempotencyKey }) => kept.has(idempotencyKey))).toEqual([])
  return told.filter(({ idempotencyKey }) => !kept.has(idempotencyKey))
}

const runIdOf = ({ told }: Call): string => JSON.parse(told?.body ?? "").data.id

let people: Awaited<ReturnType<typeof createPeople>>
let seal: { day: string; hash: string }
let moment: Moment
let later: Moment
let kept: Call
let lost: Call
let last: Call
let issued: string
let told: Call[]

async function createPeople() {
  const owner = await createUser({ role: "owner" })
  const staff = { cookie: await sessionOf(owner) }
  const [revokedBefore, revokedAfter, banned, leaving] = [
    await customer(),
    await customer(),
    await customer(),
    await customer(),
  ]
  const issuing = await createUser()
  const signedIn = { cookie: await sessionOf(issuing) }
  return { owner, staff, revokedBefore, revokedAfter, banned, leaving, signedIn }
}

function revoke({ id, keyId }: { id: string; keyId: string }, as = people.staff): Promise<string> {
  return act("admin/users/[id] revokeKey", `/admin/users/${id}`, as, { id: keyId, reason: "leaked" })
}

function ban({ id }: { id: string }, as = people.staff): Promise<string> {
  return act("admin/users/[id] ban", `/admin/users/${id}`, as, { id, reason: "" })
}

function requestDeletion({ id }: { id: string }, as = people.staff): Promise<string> {
  return act("admin/users/[id] deleteAccount", `/admin/users/${id}`, as, { id })
}

test("a backup is made under load, and the checks of the document pass", async () => {
  // An entry in the past, which only a superuser can write.
  await cluster.run(`runuser -u postgres -- psql -Xqd product -c "SET session_replication_role = replica" -c "
    INSERT INTO audit_entries (id, action, target_type, target_id, created_at)
    VALUES (gen_random_uuid(), 'user.signed_up', 'user', gen_random_uuid(), now() - interval '3 days')"`)
  const sealed = async () => {
    await sealAuditLog(pool())
    const { rows } = await pool().query<typeof seal>("SELECT day::text, encode(hash, 'hex') AS hash FROM audit_seals")
    return rows
  }
  // The sweeper of the server may be sealing the same day.
  await expect.poll(sealed).toHaveLength(3)
  seal = (await sealed())[2] ?? expect.fail()
  people = await createPeople()
  const [, pgbackrest = "", postgres = "", prepare = ""] = await blocksOf("Set up")
  await cluster.configure(pgbackrest, postgres)
  const [restart = "", ...commands] = prepare.trim().split("\n")
  await cluster.run(restart)
  const stop = await load()
  await timed("stanza, check and full backup under load", () => cluster.run(commands.join("\n")))
  const [watch = ""] = await blocksOf("How to see that it works")
  await cluster.run(watch.replace(/^.*pg_stat_archiver.*$/m, ""))
  // A time within a second of the end of the backup is refused.
  const backedUp = await clock()
  await expect.poll(async () => (await clock()).at - backedUp.at, { timeout: 10_000 }).toBeGreaterThan(2_000)

  await revoke(people.revokedBefore)
  kept = await call(people.banned.key)
  moment = await clock()
  lost = await call(people.banned.key)
  await revoke(people.revokedAfter)
  await ban(people.banned)
  await requestDeletion(people.leaving)
  const fields = { requestId: randomUUID(), name: "New", expires: "never", date: "", scopes: "read" }
  const created = await act("api-keys createUserKey", "/api-keys", people.signedIn, fields)
  issued = /"secret":"([^"]+)"/.exec(created)?.[1] ?? expect.fail(created)
  expect(await statusOf(issued)).toBe(200)
  later = await clock()
  last = await call((await customer()).key)
  expect([kept, lost, last].map(({ told }) => told !== undefined)).toEqual([true, true, true])
  // The load goes on for as long as the archive takes, and until the disk is lost.
  await archived()
  await cluster.destroy()
  await stop()
  await server.stop()
  await writeFile(log, lines.join(""))
  told = calls.filter(({ told }) => told)
  console.log(`${told.length} runs acknowledged, ${calls.length - told.length} not`)
})

test("the database is restored to a moment between two acknowledged runs", async () => {
  await timed("restore", () => restore(moment))
  const missing = await expectRunsOf(moment)
  expect(await runsOf(kept)).toMatchObject([{ state: "settled", response_body: kept.told?.body }])
  expect(await runsOf(lost)).toEqual([])
  expect(await findViolations(pool())).toEqual([])

  const sessions = await db().session.count()
  const dry = await timed("after-restore, dry", () => script(2, "after-restore", "--log", log, "--dry-run"))
  expect(dry).toContain("Dry run: nothing was changed.")
  expect([await db().session.count(), await db().auditEntry.count({ where: { action: "database.restored" } })]).toEqual(
    [sessions, 0],
  )

  const report = await timed("after-restore", () => script(2, "after-restore", "--log", log))
  expect(report).toContain(`Ended: ${sessions} sessions`)
  const listed = [...report.matchAll(/^ {4}run (\S+)/gm)].map(([, id]) => id)
  expect(listed.sort()).toEqual(missing.map(runIdOf).sort())
  const { revokedAfter, banned, leaving } = people
  for (const query of [
    `${revokedAfter.id}?revoke=${revokedAfter.keyId}`,
    `${banned.id}?action=ban`,
    `${leaving.id}?action=delete`,
  ]) {
    expect(report).toContain(`      ${process.env.BASE_URL}/admin/users/${query}\n`)
  }
  expect(report).not.toMatch(/may be forged/)
  expect(report).toMatch(/api_key\.issued api_key \S+ at /)
  expect(report).toContain(`run ${runIdOf(lost)} at `)
  const again = await script(0, "after-restore", "--log", log, "--accept-list")
  expect(again).toContain("Ended: 0 sessions")
  expect(await script(0, "audit-verify", seal.day, seal.hash)).toContain("match their seals")
})

test("the restarted server keeps all changes confirmed before the moment; staff repeat later ones on the listed pages", async () => {
  lines.length = 0
  server = await startServer()
  const { owner, revokedBefore, revokedAfter, banned, leaving, staff, signedIn } = people
  const keys = [revokedBefore.key, revokedAfter.key, issued, banned.key, leaving.key]
  expect(await Promise.all(keys.map(statusOf))).toEqual([401, 200, 401, 200, 200])
  const again = { cookie: await sessionOf(owner) }
  await revoke(revokedAfter, again)
  await ban(banned, again)
  await requestDeletion(leaving, again)
  expect(await Promise.all(keys.map(statusOf))).toEqual([401, 401, 401, 403, 403])
  for (const { cookie } of [staff, signedIn]) {
    const page = await exchange(`${server.address}/account`, { headers: { cookie } })
    expect([page?.status, page?.headers.location]).toEqual([307, expect.stringContaining("/sign-in")])
  }
})

test("a retry of a kept run is replayed, and a retry of a lost one is charged once", async () => {
  // Of customers who are not banned.
  const before = told.filter(({ told, key }) => (told?.at ?? 0) < moment.at && key !== kept.key)
  const after = told.filter(({ sent, key }) => sent > moment.at && key !== kept.key && key !== last.key)
  for (const call of [before[0], before.at(-1)]) {
    const response = call && (await send(call))
    expect([response?.status, response?.headers["idempotency-replayed"]]).toEqual([200, "true"])
    expect(response?.body).toBe(call?.told?.body)
  }
  for (const call of after.slice(0, 5)) {
    const responses = [await send(call), await send(call)]
    expect(responses.map((response) => response?.headers["idempotency-replayed"])).toEqual([undefined, "true"])
    expect(await runsOf(call)).toMatchObject([{ state: "settled", response_body: responses[0]?.body }])
  }
  expect(await findViolations(pool())).toEqual([])
  await archived()
  await server.stop()
})

test("a second restore, to a later moment of the lost time, undoes the first one", async () => {
  await timed("second restore", () => restore(later))
  await expectRunsOf(later)
  expect(await runsOf(lost)).toMatchObject([{ response_body: lost.told?.body }])
  expect(await runsOf(last)).toEqual([])
  expect(await findViolations(pool())).toEqual([])
  const report = await script(2, "after-restore", "--log", log)
  expect(report).not.toContain("/admin/users/")
  server = await startServer()
  const { revokedBefore, revokedAfter, banned, leaving } = people
  const keys = [revokedBefore.key, revokedAfter.key, banned.key, leaving.key, issued]
  expect(await Promise.all(keys.map(statusOf))).toEqual([401, 401, 403, 403, 200])
})
