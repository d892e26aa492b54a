import { createHash, createHmac, hkdfSync, randomUUID } from "node:crypto"
import { afterEach, expect, test } from "vitest"
import { env } from "@/lib/env"
import { ownMigrations } from "@/lib/platform/postgres/readiness"
import { entryOf, logFile, signedLine } from "@/tests/support/log-lines"
import { readEvidence, readSeals } from "./evidence"

afterEach(() => {
  Object.assign(env(), { LOG_SECRETS: undefined })
})

const now = Date.now()
const at = (second: number) => new Date(now - 60_000 + second * 1_000)
const [id, accountId, keyId] = [randomUUID(), randomUUID(), randomUUID()]
const told = (second: number, credits: number) =>
  signedLine("request", { keyId, run: { id, accountId, credits } }, { at: at(second) })
const banned = (second: number, secret?: string) =>
  signedLine("audited", entryOf("user.banned", accountId), { at: at(second), ...(secret && { secret }) })
const unsigned = ({ signature: _, at: __, ...line }: ReturnType<typeof banned>) => line

async function trustIn(...lines: readonly (object | string)[]) {
  return (await readEvidence([await logFile(...lines)])).entries.map(({ trust }) => trust)
}

test("a run with a response and a replay is one run with its credits", async () => {
  const files = [await logFile(told(3, 0)), await logFile(told(2, 7), told(5, 0))]
  const { runs } = await readEvidence(files)
  const time = at(2).toISOString()
  expect(runs).toEqual([{ id, accountId, keyId, credits: 7, time, trust: "verified" }])
})

test("entries are in the order of their ids, also from several servers and files", async () => {
  const [first, second] = [banned(2), banned(1)]
  const { entries } = await readEvidence([await logFile(second), await logFile(first)])
  expect(entries.map(({ entryId }) => entryId)).toEqual([first.entryId, second.entryId])
})

test("text before a line is skipped, and so are lines of other programs, also half ones", async () => {
  const others = ['{"time":"2026', '{"event":5}', "{}"]
  const { runs, damaged } = await readEvidence([
    await logFile("Process 1 listens", `web-1  | ${JSON.stringify(told(1, 2))}`, ...others),
  ])
  expect([runs.length, damaged]).toEqual([1, 0])
})

test("the times come from the first and the last verified line", async () => {
  const others = [unsigned(banned(1)), banned(9, "x".repeat(32)), { time: at(8).toISOString(), event: "printed" }]
  const { from, to } = await readEvidence([await logFile(told(4, 1), ...others), await logFile(banned(2))])
  expect([from, to]).toEqual([at(2).toISOString(), at(4).toISOString()])
})

test("a file without a line of a server is refused, also together with one that has some", async () => {
  for (const foreign of [await logFile("\u001f\u008b\u0000{}", "no line of a server"), await logFile()]) {
    await expect(readEvidence([await logFile(told(1, 2)), foreign])).rejects.toThrow(
      `${foreign}: no line is from a server`,
    )
  }
})

const line = banned(1)
const [firstMigration = ""] = await ownMigrations()
const day = (shift: number) =>
  new Date(Date.parse(firstMigration.replace(/^(....)(..)(..).*/, "$1-$2-$3")) + shift * 86_400_000)

test.each([
  ["half a line", JSON.stringify(told(1, 2)).slice(0, -9)],
  [
    "a line within another line",
    `{"level":"info","time":"2026-01-31T{"level":"info","time":"${line.time}","event":"request"}`,
  ],
  ["an entry without its id", { ...line, entryId: undefined }],
  ["an entry that would be printed as two lines", { ...line, action: "waitlist.invited", targetId: "x\n  account y" }],
  ["an entry that would color a terminal", { ...line, action: "waitlist.invited", targetType: "\u001b[31m" }],
  ["a run without its account", { ...told(1, 2), run: { id, credits: 1 } }],
  ["an action on an account without its id", { ...line, targetId: "x" }],
  ["a seal without its hash", { ...line, event: "audit_sealed" }],
  ["a verified line of the future", signedLine("audited", entryOf("user.banned", id), { at: new Date(now + 120_000) })],
  ["an unsigned line of the future", unsigned({ ...line, time: new Date(now + 120_000).toISOString() })],
  ["a verified line from before the product", signedLine("audited", entryOf("user.banned", id), { at: day(-1) })],
  ["an unsigned line from before the product", unsigned({ ...line, time: day(-1).toISOString() })],
  ["another line from before the product", { level: "info", time: day(-1).toISOString(), event: "printed" }],
])("%s is counted as damaged and ignored", async (_, damagedLine) => {
  const { runs, entries, from, damaged } = await readEvidence([await logFile(told(2, 3), damagedLine)])
  expect([runs.length, entries, from, damaged]).toEqual([1, [], at(2).toISOString(), 1])
})

test("clocks of servers may be up to a minute ahead", async () => {
  expect(await trustIn(signedLine("audited", entryOf("user.banned", id), { at: new Date(now + 30_000) }))).toEqual([
    "verified",
  ])
  expect(await trustIn(signedLine("audited", entryOf("user.banned", id), { at: day(1) }))).toEqual(["verified"])
})

test("a line is signed with HMAC-SHA256 by a key that is derived from the first secret of AUTH_SECRET", () => {
  const fields = entryOf("user.role_changed", accountId, "support")
  const { at, signature } = signedLine("audited", fields, { secret: `${"a".repeat(32)},${"b".repeat(32)}` })
  const key = Buffer.from(hkdfSync("sha256", "a".repeat(32), "", "log evidence", 32))
  const covered = ["audited", at, fields.entryId, fields.action, null, "user", accountId, "support"]
  const hmac = createHmac("sha256", key).update(JSON.stringify(covered)).digest("base64url")
  expect(signature).toBe(`${createHash("sha256").update(key).digest("hex").slice(0, 8)}.${hmac}`)
})

const role = signedLine("audited", entryOf("user.role_changed", accountId, "member"), { at: at(1) })

test.each([
  ["with another id", { ...role, entryId: randomUUID() }],
  ["with another action", { ...role, action: "user.banned" }],
  ["with another actor", { ...role, actorId: randomUUID() }],
  ["with another type of its target", { ...role, targetType: "api_key" }],
  ["with another target", { ...role, targetId: randomUUID() }],
  ["with another role", { ...role, role: "owner" }],
  ["without its role", { ...role, role: undefined }],
  ["of another time", { ...role, at: at(2).toISOString() }],
  ["without the time of its signature", { ...role, at: undefined }],
  ["with the signature of another line", { ...role, signature: line.signature }],
  ["with a part of its signature", { ...role, signature: role.signature.slice(0, -1) }],
  ["with an empty signature", { ...role, signature: "" }],
  ["signed with another secret", signedLine("audited", entryOf("user.banned", accountId), { secret: "x".repeat(32) })],
])("a line %s is forged", async (_, changed) => {
  expect(await trustIn(banned(0), changed)).toEqual(expect.arrayContaining(["verified", "forged"]))
})

test.each([
  ["key", { keyId: randomUUID() }],
  ["run", { run: { id: randomUUID(), accountId, credits: 1 } }],
  ["account", { run: { id, accountId: randomUUID(), credits: 1 } }],
  ["number of credits", { run: { id, accountId, credits: 9 } }],
])("the line of a run with another %s is forged", async (_, change) => {
  const { runs } = await readEvidence([await logFile({ ...told(1, 1), ...change })])
  expect(runs.map(({ trust }) => trust)).toEqual(["forged"])
})

test.each(["request", "sign_in_refused", "user.banned", "database_restored"])(
  "a verified line whose event is changed to %s is in no list",
  async (event) => {
    const { runs, entries } = await readEvidence([await logFile(told(1, 2), { ...banned(1), event })])
    expect([runs.length, entries]).toEqual([1, []])
  },
)

test("lines that an earlier secret signed are verified while LOG_SECRETS has it", async () => {
  const former = "f".repeat(32)
  const lines = [banned(1, former), banned(2)]
  expect(await trustIn(...lines)).toEqual(["forged", "verified"])
  Object.assign(env(), { LOG_SECRETS: `${"e".repeat(32)},${former}` })
  expect(await trustIn(...lines)).toEqual(["verified", "verified"])
})

test("a repeated verified line is one entry, also with another unsigned time", async () => {
  expect(await trustIn(line, line, { ...line, time: at(5).toISOString(), pid: 9 })).toEqual(["verified"])
})

test("a forged line hides no other line with the same id", async () => {
  const forged = { ...line, targetId: randomUUID() }
  expect(await trustIn(forged, line, forged, { ...forged, action: "user.closed" })).toEqual([
    ...["forged", "verified", "forged"],
  ])
  const { runs } = await readEvidence([
    await logFile(told(1, 2), { ...told(1, 2), run: { id, accountId, credits: 9 } }),
  ])
  expect(runs.map(({ credits, trust }) => [credits, trust])).toEqual([
    [2, "verified"],
    [9, "forged"],
  ])
})

test("a line without a signature is from before lines were signed only if it is older than all verified ones", async () => {
  const lines = [unsigned(banned(1)), unsigned(banned(3))]
  expect(await trustIn(...lines, told(2, 1))).toEqual(["unsigned", "forged"])
  expect(await trustIn(...lines, banned(2, "x".repeat(32)))).toEqual(["forged", "forged", "forged"])
})

test("no more runs that the database has are held in memory than one query asks for", async () => {
  const kept = told(1, 2)
  const many = Array.from({ length: 25_000 }, () => ({ ...kept, run: { id: randomUUID(), accountId, credits: 2 } }))
  const asked: number[] = []
  const { runs } = await readEvidence([await logFile(told(1, 5), ...many, told(2, 0))], async (ids) => {
    asked.push(ids.length)
    return ids.filter((one) => one !== id)
  })
  expect([runs.map(({ id, credits }) => [id, credits]), asked]).toEqual([[[id, 5]], [10_000, 10_000, 5_001]])
})

const seal = (second: number, day: string, hash: string, secret?: string) =>
  signedLine("audit_sealed", { day, entries: 1, hash: hash.repeat(64) }, { at: at(second), ...(secret && { secret }) })

async function sealsIn(...lines: readonly object[]) {
  const { seals, unverified } = await readSeals([await logFile(...lines)])
  return [seals.map(({ day, hash }) => `${day} ${hash.slice(0, 1)}`), unverified]
}

test("seals count only if they are verified, as they were written", async () => {
  const [good, other] = [seal(1, "2026-11-01", "a"), seal(2, "2026-11-02", "b", "x".repeat(32))]
  const changed = [{ hash: "c".repeat(64) }, { day: "2026-11-03" }, { entries: 2 }, { signature: undefined }]
  expect(await sealsIn(good, other, ...changed.map((change) => ({ ...good, ...change })))).toEqual([
    ["2026-11-01 a"],
    5,
  ])
})

test("a day that was sealed twice has both seals, unless a verified restore to before its end is between them", async () => {
  const [first, second] = [seal(1, "2026-11-02", "a"), seal(5, "2026-11-02", "b")]
  const restored = (second: number, moment: string, secret?: string) =>
    signedLine("database_restored", { moment }, { at: at(second), ...(secret && { secret }) })
  const moment = "2026-11-02T23:59:59.999Z"
  expect(await sealsIn(first, second, restored(3, moment))).toEqual([["2026-11-02 b"], 0])
  for (const line of [
    [],
    [restored(0, moment)],
    [restored(3, "2026-11-03T00:00:00.000Z")],
    [restored(3, moment, "x".repeat(32))],
    [{ ...restored(3, "2026-11-03T00:00:00.000Z"), moment }],
    [{ ...restored(3, moment), signature: undefined }],
  ]) {
    expect(await sealsIn(first, second, ...line)).toEqual([["2026-11-02 a", "2026-11-02 b"], 0])
  }
})
