import { randomInt, randomUUID } from "node:crypto"
import fc from "fast-check"
import { Pool } from "pg"
import { afterAll, expect, test } from "vitest"
import { env } from "@/lib/env"
import { foldDailyChanges } from "@/lib/platform/postgres/daily-sums"
import { Between } from "@/lib/platform/postgres/page"
import { pool } from "@/lib/platform/postgres/pool"
import { countedSums, countedUsage, foldRequestSums } from "@/lib/platform/postgres/request-sums"
import { withSettings } from "@/lib/platform/postgres/settings"
import { ownerPool } from "@/tests/support/owner"
import { isLong } from "@/tests/support/sample"
import { countRequests } from "./key-activity"
import { findRequests, findUsage, statusGroups } from "./lists"
import { dropOldRequests, firstLoggedDay } from "./retention"
import { type Entry, writeEntries } from "./write"

// Several processes write batches at once; some are repeated, some fail and some meet the end of a day. Changes are
// folded and old days are dropped between them. At every commit the sums and totals must equal the logged rows.
// `REQUEST_LOG_SEQUENCES=500 npx vitest run lib/request-log/sums.model.test.ts` tests more sequences.
const numRuns = Number(process.env.REQUEST_LOG_SEQUENCES || (isLong ? 100 : 4))
const timeLimit = numRuns * 3_000
const seed = Number(process.env.REQUEST_LOG_SEED || randomInt(2 ** 31))

const day = 86_400_000
const database = new Pool({ connectionString: withSettings(env().DATABASE_URL), max: 4 })
const owners = [randomUUID(), randomUUID()]
const keys = [0, 1, 2].map((index) => ({ keyId: randomUUID(), userId: owners[index % 2] ?? "" }))
const routes = ["/api/v1/me", "/api/v1/me/orders", "/api/v1/me/run"]
const statuses = [200, 200, 401, 403, 429, 503]
const addresses = ["192.0.2.1", "2001:db8::1", "2001:db8::2", "2001:db8:0:1::1", undefined]

afterAll(() => database.end())

/** The start of the first shown day and today, each with the last moment before and the moments after. */
const time = fc
  .tuple(fc.constantFrom(0, 1, 29, 30), fc.constantFrom(-1, 0, 1, 3_599_999, 3_600_000, day / 2))
  .map(([index, ms]) => new Date(firstLoggedDay().getTime() + index * day + ms))

const entry: fc.Arbitrary<Entry> = fc
  .record({
    id: fc.constant("").map(() => randomUUID()),
    key: fc.constantFrom(...keys),
    createdAt: time,
    route: fc.constantFrom(...routes),
    status: fc.constantFrom(...statuses),
    ms: fc.constantFrom(0, 9, 10, 49, 50, 249, 250, 999, 1000, 60_000),
    rows: fc.constantFrom(0, 1, 500),
    credits: fc.constantFrom(0, 7),
    address: fc.constantFrom(...addresses),
  })
  .map(({ key, ...rest }) => ({
    ...key,
    ...rest,
    method: "GET",
    code: undefined,
    userAgent: null,
    parameters: [],
    requestId: randomUUID(),
  }))

const batches = fc.array(fc.array(entry, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 4 })

const kinds = [
  { weight: 5, arbitrary: batches.map((all) => ({ kind: "write", batches: all }) as const) },
  { weight: 1, arbitrary: batches.map((all) => ({ kind: "repeat", batches: all }) as const) },
  { weight: 1, arbitrary: batches.map((all) => ({ kind: "fail", batches: all }) as const) },
  { weight: 1, arbitrary: fc.constant({ kind: "drop" } as const) },
  { weight: 1, arbitrary: fc.constant({ kind: "fold" } as const) },
  { weight: 2, arbitrary: batches.map((all) => ({ kind: "write after a while", batches: all }) as const) },
]

const step = fc.oneof(...kinds)

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

/** Every kind of step, so that none is left to chance. */
const everyKind: Step[] = kinds.flatMap(({ arbitrary }) => fc.sample<Step>(arbitrary, { seed: 1, numRuns: 1 }))

async function perform(change: Step): Promise<Entry[]> {
  switch (change.kind) {
    case "write after a while":
      // So that one of the writers folds while the others write.
      await database.query("SELECT setval('key_requests_folded', 0)")
      await Promise.all(change.batches.map((entries) => writeEntries(database, entries)))
      return change.batches.flat()
    case "write":
      await Promise.all(change.batches.map((entries) => writeEntries(database, entries)))
      return change.batches.flat()
    case "repeat":
      await Promise.all([...change.batches, ...change.batches].map((entries) => writeEntries(database, entries)))
      return change.batches.flat()
    case "fail":
      // The last entry cannot be stored, so that none of its batch may count.
      for (const entries of change.batches) {
        const broken = [...entries, { ...(entries[0] as Entry), id: randomUUID(), method: "\0" }]
        await expect(writeEntries(database, broken)).rejects.toThrow()
      }
      return []
    case "drop":
      await dropOldRequests(database)
      return []
    case "fold":
      await Promise.all([foldDailyChanges(database), foldRequestSums(database), foldRequestSums(database)])
      return []
  }
}

test("at every commit, sums, usage, reach and totals equal the logged rows", {
  timeout: timeLimit + 30_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
      await ownerPool().query("TRUNCATE key_requests, key_request_changes, key_request_sums, key_usage, key_reach")
      const written: Entry[] = []
      for (const change of steps) {
        written.push(...(await perform(change)))
        await compare(written)
      }
      await compareFolded(written)
    }),
    { numRuns, seed, endOnFailure: true, examples: [[everyKind]] },
  )
})

async function compare(written: readonly Entry[]): Promise<void> {
  const first = firstLoggedDay()
  const shown = written.filter(({ createdAt }) => createdAt >= first)
  const { rows: stored } = await database.query("SELECT id FROM key_requests WHERE created_at >= $1", [first])
  expect(stored.map(({ id }) => id).sort()).toEqual(shown.map(({ id }) => id).sort())

  const { rows: sums } = await database.query(
    `SELECT count(*)::int AS wrong FROM
       (SELECT key_id, user_id, date_trunc('hour', created_at, 'UTC') AS hour, route, status, count(*) AS n
        FROM key_requests WHERE created_at >= $1 GROUP BY 1, 2, 3, 4, 5) r
       FULL JOIN (SELECT key_id, user_id, hour, route, status, sum(n) AS n FROM ${countedSums} counted WHERE hour >= $1
         GROUP BY 1, 2, 3, 4, 5) s USING (key_id, user_id, hour, route, status)
     WHERE r.n IS DISTINCT FROM s.n`,
    [first],
  )
  expect(sums[0].wrong).toBe(0)

  const ranges = [{}, { since: new Date(first.getTime() + 1), until: new Date(first.getTime() + 29 * day) }]
  const filters = [
    {},
    { status: 200 },
    { status: 403, route: routes[1] },
    { status: statusGroups.failed },
    { status: statusGroups.succeeded, route: routes[0] },
    { keyId: keys[0]?.keyId, status: statusGroups["4xx"] },
    { userId: owners[1], status: statusGroups["5xx"] },
    { keyId: keys[0]?.keyId },
    { userId: owners[0], route: routes[0] },
    { keyId: keys[1]?.keyId, status: 200, route: routes[2] },
  ]
  for (const range of ranges) {
    for (const where of filters) {
      const matching = shown.filter(
        (row) =>
          (!range.since || row.createdAt >= range.since) &&
          (!range.until || row.createdAt <= range.until) &&
          Object.entries(where).every(([field, value]) => isEqual(row[field as keyof Entry], value)),
      )
      const page = { limit: 500, offset: 0, order: "desc", ...range } as const
      const found = await findRequests.page(where as object, page)
      expect([found.total, found.rows.length], JSON.stringify({ where, range })).toEqual([
        matching.length,
        matching.length,
      ])
    }
  }

  const { rows: used } = await database.query(
    `SELECT unit, sum(requests)::int AS requests, sum(errors)::int AS errors, sum(rows)::int AS rows, sum(credits)::int AS credits,
            sum(under_10_ms)::int AS fast, sum(under_50_ms + under_250_ms + under_1000_ms)::int AS slower
     FROM ${countedUsage} counted GROUP BY unit ORDER BY unit`,
  )
  const all = totalsOf(written)
  expect(used).toEqual(
    written.length > 0
      ? [
          { unit: "hour", ...all },
          { unit: "day", ...all },
        ]
      : [],
  )
  for (const { keyId } of keys) {
    expect(await countRequests(keyId)).toBe(written.filter((row) => row.keyId === keyId).length)
  }
}

function isEqual(value: unknown, filter: unknown): boolean {
  if (!(filter instanceof Between)) return value === filter
  return typeof value === "number" && value >= filter.first && value <= filter.last
}

function totalsOf(written: readonly Entry[]) {
  const sum = (field: "rows" | "credits") => written.reduce((all, row) => all + row[field], 0)
  return {
    requests: written.length,
    errors: written.filter(({ status }) => status >= 400).length,
    rows: sum("rows"),
    credits: sum("credits"),
    fast: written.filter(({ ms }) => ms < 10).length,
    slower: written.filter(({ ms }) => ms >= 10 && ms < 1_000).length,
  }
}

async function compareFolded(written: readonly Entry[]): Promise<void> {
  for (const unit of ["hour", "day"] as const) {
    const { rows, total } = await findUsage.page({ unit }, { limit: 500, offset: 0, order: "desc" })
    expect(total).toBe(rows.length)
    const sum = (field: "requests" | "errors" | "rows" | "credits") =>
      rows.reduce((all, row) => all + Number(row[field]), 0)
    expect(sum("requests")).toBe(written.length)
    expect(sum("errors")).toBe(written.filter(({ status }) => status >= 400).length)
    expect(sum("rows")).toBe(written.reduce((all, { rows }) => all + rows, 0))
    expect(sum("credits")).toBe(written.reduce((all, { credits }) => all + credits, 0))
  }

  const { rows: reach } = await pool().query(
    `SELECT key_id, route, address, requests::int, refused::int, rows::int, first_at, last_at FROM key_reach`,
  )
  const expected = new Map<string, (typeof reach)[number]>()
  for (const row of written) {
    const place = [row.keyId, row.route, networkOf(row.address)].join(" ")
    const known = expected.get(place)
    expected.set(place, {
      key_id: row.keyId,
      route: row.route,
      address: networkOf(row.address),
      requests: (known?.requests ?? 0) + 1,
      refused: (known?.refused ?? 0) + (row.status >= 400 ? 1 : 0),
      rows: (known?.rows ?? 0) + row.rows,
      first_at: known && known.first_at < row.createdAt ? known.first_at : row.createdAt,
      last_at: known && known.last_at > row.createdAt ? known.last_at : row.createdAt,
    })
  }
  const inOrder = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).sort()
  expect(inOrder(reach)).toEqual(inOrder([...expected.values()]))
}

function networkOf(address: string | undefined): string {
  if (!address) return "unknown"
  return (
    { "2001:db8::1": "2001:db8::/64", "2001:db8::2": "2001:db8::/64", "2001:db8:0:1::1": "2001:db8:0:1::/64" }[
      address
    ] ?? address
  )
}
