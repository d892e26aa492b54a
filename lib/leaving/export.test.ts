import { randomUUID } from "node:crypto"
import { beforeAll, expect, test } from "vitest"
import type { OwnerId } from "@/lib/authority/owner"
import { cursorApplication, openSnapshot } from "@/lib/platform/postgres/cursor"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { createKey, createUser, createViewer, withoutTriggers } from "@/tests/support/factories"
import { createLeaver, type Leaver, markedColumns } from "@/tests/support/leaver"
import { unzip } from "@/tests/support/zip"
import { exportOf } from "./export"
import { allowExport, consumeExport } from "./export-token"
import { auditDetails, personalTables } from "./personal-data"

let leaver: Leaver
let other: Leaver

beforeAll(async () => {
  leaver = await createLeaver()
  other = await createLeaver()
})

/** @param onRead is told how many rows were read from the database */
async function open({ user: { id } }: Pick<Leaver, "user">, onRead = (_rows: number) => {}) {
  const snapshot = await openSnapshot(id, 60_000)
  if (!snapshot) throw new Error("The account has another snapshot.")
  const read: typeof snapshot.read = async (statement) => {
    const next = await snapshot.read(statement)
    return async () => {
      const rows = await next()
      onRead(rows.length)
      return rows
    }
  }
  return exportOf(id as OwnerId, { ...snapshot, read })
}

async function readAll({ next, abort }: Awaited<ReturnType<typeof open>>): Promise<Buffer> {
  const read: Uint8Array[] = []
  for (let isLast = false; !isLast; ) {
    const part = await next()
    read.push(part.chunk)
    isLast = part.isLast
  }
  abort()
  return Buffer.concat(read)
}

async function exported(of: Pick<Leaver, "user">): Promise<Map<string, string>> {
  return unzip(await readAll(await open(of)))
}

/** The columns of which an export contains the marker, in text or in base64. */
function marksIn(files: Map<string, string>, { mark, bytes }: Leaver, columns: readonly string[]): string[] {
  const text = [...files.values()].join("\n")
  return columns.filter((column) =>
    [mark(column), bytes(column).toString("base64"), bytes(column).toString("hex"), bytes(column).toString()].some(
      (mark) => text.includes(mark),
    ),
  )
}

test("an export contains every marker of the columns that it exports, no other one, and none of another account", async () => {
  const columns = await markedColumns()
  const files = await exported(leaver)
  const expected = personalTables().flatMap(([table, { columns }]) =>
    Object.entries(columns).flatMap(([column, [exported]]) =>
      exported === true || "sql" in exported ? [`${table}.${column}`] : [],
    ),
  )
  // The address on the waitlist is that of the account.
  expect(marksIn(files, leaver, columns)).toEqual(
    columns.filter((column) => expected.includes(column) && column !== "waitlist_entries.email"),
  )
  const everything = [...files.values()].join("\n")
  for (const foreign of [other.word, other.user.id, leaver.staff.id, leaver.staff.email, other.keys[0]?.id ?? ""]) {
    expect(everything).not.toContain(foreign)
  }
  for (const secret of [leaver.secret, leaver.mark("users.password_hash"), leaver.mark("account_notes.text")]) {
    expect(everything).not.toContain(secret)
  }
  // Reasons that staff typed.
  expect(everything).not.toContain(leaver.mark("audit_entries.details_of_staff"))
  expect(everything).not.toContain("user.noted")
})

test("each file is JSON with the rows of its kind, and README.txt names all of them and the omitted data", async () => {
  const files = await exported(leaver)
  const readme = files.get("README.txt") ?? ""
  const names = [...files.keys()].filter((name) => name !== "README.txt")
  expect(names.length).toBeGreaterThan(15)
  for (const name of names) {
    expect(readme).toContain(`- ${name}: `)
    const rows = JSON.parse(files.get(name) ?? "")
    expect(rows.length, name).toBeGreaterThan(0)
    expect(Object.keys(rows[0]).every((field) => /^[a-z][A-Za-z0-9]*$/.test(field))).toBe(true)
  }
  for (const [, { file }] of personalTables()) if ("without" in file) expect(readme).toContain(file.without)
  expect(readme).toContain("Notes that staff made about you")
  const [account] = JSON.parse(files.get("account.json") ?? "")
  const { id, email, name } = leaver.user
  expect(account).toMatchObject({ id, email, name, role: "member", status: "active" })
  expect(new Date(account.createdAt)).toEqual(leaver.user.createdAt)
  expect(JSON.parse(files.get("activity.json") ?? "").map(({ actorId }: { actorId: string }) => actorId)).toContain(
    "staff",
  )
  expect(JSON.parse(files.get("runs.json") ?? "")[0]).toMatchObject({ state: "settled", cost: expect.any(Number) })
})

test("an account without data exports empty lists", async () => {
  const viewer = await createViewer()
  const files = await exported({ user: await db().user.findUniqueOrThrow({ where: { id: viewer.id } }) })
  expect(JSON.parse(files.get("runs.json") ?? "")).toEqual([])
  expect(JSON.parse(files.get("sessions.json") ?? "")).toHaveLength(1)
})

test("an export contains no rows of an unconfirmed address, or of an address that another account may have had", async () => {
  const email = `shared-${randomUUID()}@example.com`
  await db().waitlistEntry.create({ data: { email, note: "Written by another person", source: "website" } })
  await db().email.create({
    data: { to: email, template: "invitation", subject: "You can now sign up", status: "not_sent" },
  })
  const former = await createUser({ emailVerified: new Date() })
  const confirmedAt = new Date(Date.now() - 80 * 3_600_000)
  await db().addressChange.create({
    data: { userId: former.id, from: email, to: former.email, token: email, confirmedAt },
  })
  const unconfirmed = await createUser({ email })
  const found = async (user: typeof former) => {
    const files = await exported({ user })
    return ["waitlist.json", "emails.json"].map((name) => JSON.parse(files.get(name) ?? "").length)
  }
  expect([await found(former), await found(unconfirmed)]).toEqual([1, 2].map(() => [0, 0]))
  await db().user.update({ where: { id: unconfirmed.id }, data: { emailVerified: new Date() } })
  expect(await found(unconfirmed)).toEqual([1, 1])
})

/** Rows that do not compress. */
async function addFeedback({ user: { id } }: Leaver, rows: number) {
  await withoutTriggers(
    `INSERT INTO feedback (id, user_id, rating, message)
     SELECT gen_random_uuid(), $1, 3, (SELECT string_agg(gen_random_uuid()::text, '') FROM generate_series(1, 50) WHERE n > 0)
     FROM generate_series(1, $2::int) n`,
    [id, rows],
  )
}

async function connections(): Promise<number> {
  const { rows } = await pool().query(
    "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()",
    [cursorApplication],
  )
  return rows[0].n
}

test("an export is one snapshot", async () => {
  const { id } = other.user
  const snapshot = await openSnapshot(id, 60_000)
  await db().feedback.create({ data: { userId: id, rating: 5, message: "written later" } })
  const files = unzip(await readAll(exportOf(id as OwnerId, snapshot ?? expect.fail())))
  expect(files.get("feedback.json")).toContain(other.mark("feedback.message"))
  expect(files.get("feedback.json")).not.toContain("written later")
})

test("an export of which a file cannot be read fails instead of looking complete", async () => {
  const { id } = other.user
  const snapshot = (await openSnapshot(id, 60_000)) ?? expect.fail()
  let files = 0
  const read: typeof snapshot.read = (statement) =>
    ++files === 5 ? Promise.reject(new Error("It took too long.")) : snapshot.read(statement)
  const chunks = exportOf(id as OwnerId, { ...snapshot, read })
  await expect(readAll(chunks)).rejects.toThrow("It took too long.")
  chunks.abort()
})

test("an export reads no further than its client, and frees its connection when the client is gone", async () => {
  const large = await createLeaver()
  await addFeedback(large, 6_000)
  let rows = 0
  const chunks = await open(large, (found) => {
    rows += found
  })
  await chunks.next()
  // Of about 5 MB in all.
  let read = 0
  for (let part = await chunks.next(); read < 2_000_000; part = await chunks.next()) read += part.chunk.length
  expect(rows).toBeGreaterThan(1_200)
  expect(rows).toBeLessThan(4_500)
  expect(await connections()).toBe(1)
  chunks.abort()
  await expect.poll(connections).toBe(0)
})

test("an export that loses the database fails instead of looking complete", async () => {
  const large = await createLeaver()
  await addFeedback(large, 6_000)
  const chunks = await open(large)
  await chunks.next()
  await pool().query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()",
    [cursorApplication],
  )
  await expect(readAll(chunks)).rejects.toThrow()
  chunks.abort()
})

test("a token downloads once, in its session, within five minutes, and is stored as a hash", async () => {
  const [viewer, other] = [await createViewer(), await createViewer()]
  const second = { ...viewer, sessionId: other.sessionId }
  const token = await allowExport(viewer)
  const { exporting } = await db().session.findUniqueOrThrow({ where: { id: viewer.sessionId } })
  expect(Buffer.from(exporting ?? [])).toHaveLength(32)
  for (const [of, given] of [
    [other, token],
    [second, token],
    [viewer, `${token}x`],
    [viewer, ""],
  ] as const) {
    expect(await consumeExport(of, given, "192.0.2.1")).toBe(false)
  }
  const both = await Promise.all([consumeExport(viewer, token, "192.0.2.1"), consumeExport(viewer, token, "192.0.2.1")])
  expect(both.sort()).toEqual([false, true])
  expect(await consumeExport(viewer, token, "192.0.2.1")).toBe(false)
  expect(await db().auditEntry.findMany({ where: { targetId: viewer.id } })).toMatchObject([
    { action: "user.exported", actorId: viewer.id, details: { address: "192.0.2.1" } },
  ])
  const late = await allowExport(viewer)
  await pool().query("UPDATE sessions SET exporting_until = exporting_until - interval '5 minutes'")
  expect(await consumeExport(viewer, late, "192.0.2.1")).toBe(false)
})

test("an account reads every detail of the audit entries about its keys, also the details hidden from others", async () => {
  const [owner, another] = [await createUser(), await createUser()]
  const { key } = await createKey({ user: owner, surface: "user" })
  const names = Object.keys(auditDetails)
  const details = Object.fromEntries(names.map((name) => [name, `mark-of-${name}.`]))
  const about = { actorId: owner.id, action: "api_key.changed", targetType: "api_key", targetId: key.id }
  await db().auditEntry.create({ data: { ...about, details } })
  const read = async (user: Leaver["user"]) => (await exported({ user })).get("activity.json") ?? ""
  const seen = await read(owner)
  expect(names.filter((name) => !seen.includes(`mark-of-${name}.`))).toEqual([])
  expect(await read(another)).not.toContain("mark-of-")
})
