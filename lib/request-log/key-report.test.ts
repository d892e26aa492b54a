import { describe, expect, test } from "vitest"
import { usageDays } from "@/lib/keys/choices"
import { pool } from "@/lib/platform/postgres/pool"
import { foldRequestSums } from "@/lib/platform/postgres/request-sums"
import { createKey, createUser, requestWith } from "@/tests/support/factories"
import { listedKey } from "@/tests/support/listed-key"
import { ownerPool } from "@/tests/support/owner"
import { countRequests, findKeyActivity, type KeyActivity } from "./key-activity"
import {
  completenessInWords,
  completenessOf,
  fileNameOf,
  type KeyReport,
  keyReportOf,
  reportFormats,
} from "./key-report"
import { failuresOf, seenOf, usageOf } from "./of-key"
import { type Entry, writeEntries } from "./write"

const day = 86_400_000
/** A time today, so that the log shows it. */
const noon = new Date(Math.floor(Date.now() / day) * day + 1)
const later = (ms: number) => new Date(noon.getTime() + ms)

async function keyWith(requests: readonly Partial<Entry>[]) {
  const user = await createUser()
  const { key } = await createKey({ user, surface: "admin" })
  const given = { createdAt: noon, route: "/api/v1/admin/users", rows: 0, address: undefined }
  await writeEntries(
    pool(),
    requests.map((request) => requestWith(key, { ...given, ...request })),
  )
  await foldRequestSums()
  return key
}

const orders = "/api/v1/admin/orders"
const [home, outsider] = ["198.51.100.1", "192.0.2.9"]

test.each([
  [0, true, "Complete from 1 May 2026, 00:00 UTC to 2 May 2026, 00:00 UTC. It starts when the key was created."],
  [
    0,
    false,
    "Complete from 1 May 2026, 00:00 UTC to 2 May 2026, 00:00 UTC. It starts with the log, and the key is older.",
  ],
  [1, true, /, except for 1 request that was not logged\. It starts/],
  [1200, true, /, except for 1,200 requests that were not logged\. It starts/],
])(
  "with %i unlogged requests, and complete since creation: %s, a report is called %s",
  (unlogged, isSinceCreation, words) => {
    const [completeFrom, readAt] = [new Date("2026-05-01T00:00:00Z"), new Date("2026-05-02T00:00:00Z")]
    expect(completenessInWords({ completeFrom, readAt, isSinceCreation, unlogged })).toMatch(words)
  },
)

describe("the activity of a key", () => {
  test("is added up by endpoint, by address, by both and in all, and holds nothing of another key", async () => {
    const key = await keyWith([
      { rows: 100, address: home },
      { rows: 7, address: home, createdAt: later(10) },
      { rows: 500, address: outsider, route: orders, createdAt: later(20) },
      { status: 403, code: "missing_scope", address: outsider, createdAt: later(30) },
    ])
    await keyWith([{ rows: 9_999, address: outsider }])
    const { total, routes, addresses, entries } = await findKeyActivity(key.id)
    const of = (requests: number, errors: number, rows: number, first: number, last: number) => {
      return { requests, errors, rows, firstAt: later(first), lastAt: later(last) }
    }
    expect(total).toEqual({ ...of(4, 1, 607, 0, 30), entries: 3 })
    expect(routes).toEqual([
      { route: orders, addresses: 1, ...of(1, 0, 500, 20, 20) },
      { route: "/api/v1/admin/users", addresses: 2, ...of(3, 1, 107, 0, 30) },
    ])
    expect(addresses).toEqual([
      { address: outsider, routes: 2, ...of(2, 1, 500, 20, 30) },
      { address: home, routes: 1, ...of(2, 0, 107, 0, 10) },
    ])
    expect(entries).toEqual([
      { route: orders, address: outsider, ...of(1, 0, 500, 20, 20) },
      { route: "/api/v1/admin/users", address: home, ...of(2, 0, 107, 0, 10) },
      { route: "/api/v1/admin/users", address: outsider, ...of(1, 1, 0, 30, 30) },
    ])
    expect(await countRequests(key.id)).toBe(4)
  })

  test("is empty for a key that was never used", async () => {
    const key = await keyWith([])
    const { total, routes, addresses, entries } = await findKeyActivity(key.id)
    expect(total).toEqual({ requests: 0, errors: 0, rows: 0, firstAt: null, lastAt: null, entries: 0 })
    expect([routes, addresses, entries]).toEqual([[], [], []])
    expect([await countRequests(key.id), await failuresOf(key.id)]).toEqual([0, []])
  })

  test("outlives the logged requests", async () => {
    const key = await keyWith([{ rows: 3 }])
    await ownerPool().query("DELETE FROM key_requests WHERE key_id = $1", [key.id])
    expect((await findKeyActivity(key.id)).total).toMatchObject({ requests: 1, rows: 3 })
  })

  test("has at most about 10,000 entries: requests from further addresses are summed", async () => {
    const key = await keyWith([{ address: home }])
    await pool().query(
      `INSERT INTO key_reach SELECT $1, '/api/v1/admin/users', 'a' || n, 1, 1, 0, now(), now() FROM generate_series(1, 9999) n`,
      [key.id],
    )
    const from = (address: string, route: string, rows: number) =>
      requestWith(key, { createdAt: later(50), status: 200, address, route, rows })
    await writeEntries(pool(), [
      from(home, "/api/v1/admin/users", 1),
      from(outsider, orders, 2),
      from("192.0.2.10", orders, 3),
    ])
    await foldRequestSums()
    await writeEntries(pool(), [from("192.0.2.11", orders, 4)])
    const { total, entries } = await findKeyActivity(key.id)
    expect(total).toMatchObject({ requests: 10_004, rows: 10, entries: 10_001 })
    expect(entries.filter(({ rows }) => rows > 0)).toMatchObject([
      { route: orders, address: "others", requests: 3, rows: 9 },
      { address: home, requests: 2, rows: 1 },
    ])
  })

  test("lists at most 10,000 entries, and says so, with exact totals", async () => {
    const key = await keyWith([])
    await pool().query(
      `INSERT INTO key_reach SELECT $1, '/api/v1/admin/users', 'a' || n, 1, 1, 0, now(), now() FROM generate_series(1, 10001) n`,
      [key.id],
    )
    const report = await keyReportOf(listedKey({ id: key.id }), { id: key.userId })
    expect([report.entries.length, report.addresses.length, report.total.requests]).toEqual([10_000, 10_000, 10_001])
    expect([report.isTruncated, report.routes[0]?.addresses]).toEqual([true, 10_001])
  })
})

describe("a report is complete", () => {
  const created = new Date("2026-06-01T00:00:00Z")
  const hours = (count: number) => new Date(created.getTime() + count * 3_600_000)
  const reach = (logStartedAt: Date | null, lastAt: Date | null) => ({
    readAt: hours(6),
    logStartedAt,
    total: { lastAt },
  })
  const key = { createdAt: created, lastUsedAt: null, revokedAt: null, expiresAt: null }

  test.each([
    ["since the key was created, if the log is older", hours(-1), { completeFrom: created, isSinceCreation: true }],
    ["since the log started, if the key is older", hours(1), { completeFrom: hours(1), isSinceCreation: false }],
    ["for no time, if nothing was ever logged", null, { completeFrom: null, isSinceCreation: false }],
  ])("%s", (_since, logStartedAt, expected) => {
    expect(completenessOf(key, reach(logStartedAt, null))).toMatchObject(expected)
  })

  test.each([
    ["never", null, null, false],
    ["at the last logged request", hours(2), hours(2), false],
    ["within the minute in which uses are recorded", new Date(hours(2).getTime() + 59_000), hours(2), false],
    ["an hour after the last logged request", hours(3), hours(2), true],
    ["with no logged request", hours(3), null, true],
    ["before the last logged request", hours(1), hours(2), false],
  ])("unless its last use is not in the log: last used %s", (_when, lastUsedAt, lastAt, isLastUseMissing) => {
    const found = completenessOf({ ...key, lastUsedAt }, reach(hours(-1), lastAt))
    expect(found.isLastUseMissing).toBe(isLastUseMissing)
  })

  test("although the key was used before the log started", () => {
    expect(completenessOf({ ...key, lastUsedAt: hours(1) }, reach(hours(5), null)).isLastUseMissing).toBe(false)
  })

  test("for no time, if the key ended more than 400 days ago", () => {
    const ended = new Date(hours(6).getTime() - usageDays * day - 1)
    for (const end of [{ revokedAt: ended }, { expiresAt: ended, revokedAt: created }]) {
      expect(completenessOf({ ...key, ...end }, reach(hours(-1), null))).toMatchObject({
        completeFrom: null,
        isDeleted: true,
      })
    }
    const kept = { ...key, revokedAt: new Date(ended.getTime() + 1) }
    expect(completenessOf(kept, reach(hours(-1), null))).toMatchObject({ completeFrom: created, isDeleted: false })
  })

  test("except for the unlogged requests, which it counts, and says when it was read", async () => {
    const key = await keyWith([{}])
    await pool().query("UPDATE key_usage SET unlogged = 41 WHERE key_id = $1", [key.id])
    const report = await keyReportOf(listedKey({ id: key.id, createdAt: noon, lastUsedAt: null }), { id: key.userId })
    expect(report).toMatchObject({ unlogged: 41, completeFrom: expect.any(Date), isTruncated: false })
    expect(Math.abs(report.readAt.getTime() - Date.now())).toBeLessThan(60_000)
  })
})

describe("a downloaded report", () => {
  const entry = { requests: 2, errors: 1, rows: 7, firstAt: noon, lastAt: noon }
  const report = (name: string, entries: KeyActivity["entries"]): KeyReport => ({
    key: listedKey({ id: "id", name, start: "old_adm_1a2B" }),
    readAt: noon,
    logStartedAt: noon,
    completeFrom: noon,
    isSinceCreation: true,
    isDeleted: false,
    isLastUseMissing: false,
    isTruncated: false,
    unlogged: 3,
    total: { ...entry, entries: entries.length },
    routes: [],
    addresses: [],
    entries,
  })
  const time = noon.toISOString()

  test("is a table in CSV, each row with the key and the time for which it is complete", () => {
    expect(reportFormats.csv.write(report("Nightly", [{ route: orders, address: "2001:db8::/64", ...entry }]))).toBe(
      `\uFEFFkey_id,key_name,complete_from,complete_to,last_use_missing,unlogged,truncated,endpoint,address,requests,errors,rows,first_at,last_at\r\n` +
        `id,Nightly,${time},${time},false,3,false,${orders},2001:db8::/64,2,1,7,${time},${time}\r\n`,
    )
  })

  test.each([
    ["=HYPERLINK(1)", `"'=HYPERLINK(1)"`],
    ["+1", `"'+1"`],
    ["-1", `"'-1"`],
    ["@SUM(1)", `"'@SUM(1)"`],
    ["\t=1", `"'\t=1"`],
    ["\r=1", "␍=1"],
    ["\u202e=1", "⟨U+202E⟩=1"],
    ["a,b", `"a,b"`],
    [`say "=1"`, `"say ""=1"""`],
    [`",=1`, `""",=1"`],
    ["a;=1", `"a;'=1"`],
    ["1=1", "1=1"],
  ])("contains no formula: a key named %j", (name, cell) => {
    const [, line] = reportFormats.csv.write(report(name, [{ route: orders, address: home, ...entry }])).split("\r\n")
    expect(line?.startsWith(`id,${cell},`)).toBe(true)
  })

  test("is JSON with the same numbers, and its file is named after the key and the day", () => {
    const given = report("Nightly", [{ route: orders, address: home, ...entry }])
    expect(JSON.parse(reportFormats.json.write(given))).toMatchObject({
      key: { id: "id", name: "Nightly", start: "old_adm_1a2B", ownerId: given.key.owner.id },
      completeFrom: time,
      completeTo: time,
      isSinceCreation: true,
      unlogged: 3,
      entries: [{ route: orders, address: home, requests: 2, errors: 1, rows: 7, firstAt: time, lastAt: time }],
    })
    expect(fileNameOf(given, "csv")).toBe(`key-report-old_adm_1a2B-${time.slice(0, 10)}.csv`)
  })
})

describe("the page of a key reads", () => {
  test("its failures in groups, the last first", async () => {
    const missing = { status: 403, code: "missing_scope", address: home }
    const key = await keyWith([
      {},
      { ...missing, createdAt: later(1) },
      { status: 429, code: "rate_limited", createdAt: later(2) },
      { ...missing, createdAt: later(3), address: outsider },
    ])
    const { rows: last } = await pool().query(
      "SELECT id FROM key_requests WHERE key_id = $1 ORDER BY created_at DESC LIMIT 1",
      [key.id],
    )
    expect(await failuresOf(key.id)).toMatchObject([
      { status: 403, code: "missing_scope", count: 2, lastId: last[0].id, lastAt: later(3), lastAddress: outsider },
      { status: 429, code: "rate_limited", count: 1, lastAt: later(2), lastAddress: null },
    ])
    const seen = { routes: ["/api/v1/admin/users"], statuses: [200, 403, 429] }
    expect(await seenOf("key", key.id)).toEqual(seen)
    expect(await seenOf("owner", key.userId)).toEqual(seen)
  })

  test.each([
    ["day", 30],
    ["hour", 48],
  ] as const)("its use by %s, with the periods in which it was not used", async (unit, periods) => {
    const key = await keyWith([{ rows: 5 }, { status: 500, ms: 70 }])
    const usage = await usageOf(key.id, unit)
    expect(usage).toHaveLength(periods)
    const sum = (name: Exclude<keyof (typeof usage)[number], "startsAt">) =>
      usage.reduce((total, period) => total + period[name], 0)
    expect([sum("requests"), sum("errors"), sum("rows"), sum("under_10_ms"), sum("under_250_ms")]).toEqual([
      2, 1, 5, 1, 1,
    ])
    const startOf = unit === "day" ? noon.toISOString().slice(0, 10) : noon.toISOString().slice(0, 13)
    expect(usage.find(({ requests }) => requests === 2)?.startsAt.toISOString()).toMatch(new RegExp(`^${startOf}`))
  })
})
