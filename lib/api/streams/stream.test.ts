import { randomUUID } from "node:crypto"
import pg from "pg"
import { afterEach, expect, onTestFinished, test, vi } from "vitest"
import { HEAD as headOfOrders, GET as orders } from "@/app/api/v1/me/orders/route"
import { cursorApplication } from "@/lib/platform/postgres/cursor"
import { databaseDeadline, type WithinDeadline } from "@/lib/platform/postgres/deadline"
import { listed } from "@/lib/platform/postgres/listed"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { withSettings } from "@/lib/platform/postgres/settings"
import {
  drainStreams,
  maxStreams,
  retrySeconds,
  type StreamKind,
  type StreamReader,
  type StreamSlot,
  takeSlot,
} from "@/lib/platform/queues/stream-slots"
import { orderRow } from "@/lib/purchases/orders"
import { drainRequestLog } from "@/lib/request-log/write"
import { singletons } from "@/lib/singleton"
import { createKey, createOrder, createOrders, createUser } from "@/tests/support/factories"
import { Refusal } from "../errors"
import type { StreamedBody } from "../respond"
import { csv, csvFile, formatOf, ndjson, type StreamFormat } from "./formats"
import { openChunks, openStream, type Reader } from "./stream"

const never = 3_600_000
const times = { maxMs: never, checkEveryMs: never, paceMs: never, lastLineMs: never }

/** No reader of the previous test still waits for a slot. */
afterEach(() => {
  delete singletons.streams
})

/** A list of an account with this many orders. */
async function listOf(orders: number) {
  const user = await createUser()
  await createOrders(user, orders)
  const find = listed("orders", orderRow)
  return {
    user,
    streamed: {
      columns: Object.keys(orderRow.shape),
      all: () => find.all({ userId: user.id }, { order: "desc" }),
      rowOf: (found: unknown) => orderRow.parse(found) as Record<string, unknown>,
    },
  }
}

/** For tests that only read it. */
const large = await listOf(1_200)

function readerWith(overrides: Partial<Reader> = {}): Reader {
  return {
    id: randomUUID(),
    account: randomUUID(),
    kind: "operator",
    request: new Request("http://localhost:3000"),
    requestId: randomUUID(),
    withinDeadline: databaseDeadline(),
    check: async () => {},
    ...overrides,
  }
}

/** Opens a stream and reads its first rows. */
async function begin(
  list: Awaited<ReturnType<typeof listOf>>,
  format: StreamFormat,
  { reader = readerWith(), ...given }: { reader?: Reader } & Partial<typeof times> = {},
) {
  const body = await openStream(reader, format, list.streamed, { ...times, ...given })
  const chunks = body.stream.getReader()
  return { ...body, chunks, first: Buffer.from((await chunks.read()).value ?? []).toString() }
}

async function readRest(chunks: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  const read: Uint8Array[] = []
  for (;;) {
    const { done, value } = await chunks.read()
    if (done) return Buffer.concat(read).toString()
    read.push(value)
  }
}

function linesOf(text: string): Record<string, unknown>[] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line))
}

async function countConnections(): Promise<number> {
  const { rows } = await pool().query(
    "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()",
    [cursorApplication],
  )
  return rows[0].n
}

test.each<[string | undefined, StreamFormat | undefined]>([
  [undefined, undefined],
  ["*/*", undefined],
  ["application/json", undefined],
  ["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", undefined],
  ["application/*", undefined],
  ["text/*", undefined],
  ["text/plain", undefined],
  ["__proto__", undefined],
  ["", undefined],
  ["text/csv", csv],
  ["TEXT/CSV", csv],
  ["text/csv; charset=utf-8", csv],
  ["text/csv;header=present;q=0.5", csv],
  ["application/x-ndjson", ndjson],
  ["application/ndjson", ndjson],
  ["application/jsonl", ndjson],
  ["application/x-jsonlines", ndjson],
  ["text/x-ndjson", ndjson],
  ["text/jsonl", ndjson],
  ["application/csv", csv],
  ["application/x-ndjson, */*", ndjson],
  ["application/x-ndjson, application/json;q=0.5", ndjson],
  ["application/json, application/x-ndjson", undefined],
  ["text/csv;q=0.5, application/x-ndjson;q=0.9", ndjson],
  ["text/csv;q=0.5, */*", undefined],
  ["text/csv;q=0", undefined],
  ["text/csv;q=nonsense", undefined],
])("a client that accepts %s gets the format it prefers", (accept, format) => {
  expect(formatOf({ headers: new Headers(accept === undefined ? {} : { accept }) })).toBe(format)
})

test.each(["limit=2", "offset=0", "cursor=x"])(
  "a stream with %s is refused, and the message says why",
  async (search) => {
    const { secret } = await createKey({ user: await createUser(), surface: "user" })
    const headers = { "x-api-key": secret, accept: "text/csv" }
    const response = await orders(new Request(`http://localhost:3000/api/v1/me/orders?${search}`, { headers }))
    expect([response.status, response.headers.get("content-type")]).toEqual([400, "application/json"])
    const { error } = await response.json()
    expect(error.message).toMatch(
      new RegExp(`^${search.split("=")[0]} selects a page, but as text/csv a list has all rows`),
    )
  },
)

test("HEAD has the headers of a stream and opens none", async () => {
  const user = await createUser()
  const { secret } = await createKey({ user, surface: "user" })
  const headers = { "x-api-key": secret, accept: "text/csv" }
  const path = "http://localhost:3000/api/v1/me/orders"
  for (let times = 0; times < 3; times++) {
    const head = await headOfOrders(new Request(path, { method: "HEAD", headers }))
    expect([head.status, head.body, head.headers.get("content-length")]).toEqual([200, null, null])
    expect(Object.fromEntries(head.headers)).toMatchObject({
      "content-type": "text/csv; charset=utf-8",
      "cache-control": "no-store, no-transform",
      "x-accel-buffering": "no",
      vary: "Accept",
    })
  }
  expect(await countConnections()).toBe(0)
  const refused = await headOfOrders(new Request(`${path}?limit=1`, { method: "HEAD", headers }))
  expect(refused.status).toBe(400)
})

test("an empty list is a line of names in CSV, and the total in NDJSON", async () => {
  const list = await listOf(0)
  for (const [format, text] of [
    [csv, `${list.streamed.columns.join(",")}\r\n`],
    [ndjson, '{"meta":{"total":0}}\n'],
  ] as const) {
    const { first, chunks, ended } = await begin(list, format)
    expect(first + (await readRest(chunks))).toBe(text)
    expect(await ended).toEqual({ rows: 0 })
  }
})

test("a stream is one snapshot: it has no rows that are added or changed while it is read", async () => {
  const list = await listOf(1_200)
  const { first, chunks, ended } = await begin(list, ndjson)
  expect(linesOf(first)).toHaveLength(500)
  await createOrder({ userId: list.user.id, createdAt: new Date(0) })
  await db().order.updateMany({ where: { userId: list.user.id }, data: { description: "Changed" } })
  const lines = linesOf(first + (await readRest(chunks)))
  expect(lines.pop()).toEqual({ meta: { total: 1_200 } })
  expect(new Set(lines.map(({ id }) => id)).size).toBe(1_200)
  expect(lines.filter(({ description }) => description === "Changed")).toEqual([])
  expect(await ended).toEqual({ rows: 1_200 })
})

test("rows are read only when the client takes them", async () => {
  const body = await openStream(readerWith(), ndjson, large.streamed, times)
  const reader = body.stream.getReader()
  await reader.read()
  await reader.cancel()
  expect(await body.ended).toEqual({ rows: 500, code: "client_disconnected" })
})

test("a stream ends after its time as incomplete, also while the client does not read", async () => {
  const { first, chunks, ended } = await begin(large, ndjson, { maxMs: 1_000 })
  expect(await ended).toEqual({ rows: 500, code: "stream_timeout" })
  expect(linesOf(first + (await readRest(chunks)))).toHaveLength(501)
  const asCsv = await begin(large, csv, { maxMs: 1_000 })
  expect(await asCsv.ended).toEqual({ rows: 500, code: "stream_timeout" })
  await expect(readRest(asCsv.chunks)).rejects.toThrow("The stream is incomplete.")
})

test("by default a reader is checked every five seconds, and a stream ends after ten minutes", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] })
  onTestFinished(() => void vi.useRealTimers())
  const check = vi.fn(async () => {})
  const list = { columns: ["n"], all: async () => [{ n: 1 }], rowOf: () => ({ n: 1 }) }
  const { ended } = await openStream(readerWith({ check }), ndjson, list)
  await vi.advanceTimersByTimeAsync(4_999)
  expect(check).toHaveBeenCalledTimes(0)
  await vi.advanceTimersByTimeAsync(1)
  expect(check).toHaveBeenCalledTimes(1)
  const ending = vi.fn()
  void ended.then(ending)
  await vi.advanceTimersByTimeAsync(594_999)
  expect(ending).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(1)
  expect(ending).toHaveBeenCalledWith({ rows: 0, code: "stream_timeout" })
})

test("a client that does not read the last line loses the connection", async () => {
  const { stream } = await openStream(readerWith(), ndjson, large.streamed, { ...times, maxMs: 1, lastLineMs: 1 })
  const reader = stream.getReader()
  await expect(reader.closed).rejects.toThrow("The stream is incomplete.")
})

test("a reader who may no longer read gets a last line that says why, or a broken connection", async () => {
  for (const format of [ndjson, csv]) {
    let isAllowed = true
    const check = async () => {
      if (!isAllowed) throw new Refusal(401, "unauthorized", "Not any more.")
    }
    const { chunks, ended } = await begin(large, format, { reader: readerWith({ check }), checkEveryMs: 10 })
    isAllowed = false
    expect(await ended).toEqual({ rows: 500, code: "unauthorized" })
    if (format === csv) await expect(readRest(chunks)).rejects.toThrow()
    else {
      const error = { code: "unauthorized", message: "Not any more." }
      expect(linesOf(await readRest(chunks))).toEqual([{ error }])
    }
  }
})

test("a stream ends as incomplete when the database ends its connection", async () => {
  const { chunks, ended } = await begin(large, ndjson)
  // Of this database: other tests read streams in the same cluster.
  await pool().query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()",
    [cursorApplication],
  )
  const [line] = linesOf(await readRest(chunks))
  expect(line).toMatchObject({ error: { code: "service_unavailable" } })
  expect(await ended).toEqual({ rows: 500, code: "service_unavailable" })
})

test("a list that cannot be read is an error response and takes no slot", async () => {
  const list = await listOf(1)
  const statement = { text: "nonsense", values: [] }
  const broken = { ...list.streamed, all: async () => statement }
  const reader = readerWith()
  await expect(openStream(reader, ndjson, broken, times)).rejects.toThrow("syntax error")
  const { chunks } = await begin(list, ndjson, { reader })
  expect(linesOf(await readRest(chunks))).toEqual([{ meta: { total: 1 } }])
  await expect.poll(countConnections).toBe(0)
})

test("a list that is opened only after the deadline of its request is closed again", async () => {
  const list = await listOf(1)
  let opening: Promise<unknown> = Promise.resolve()
  const withinDeadline: WithinDeadline = async (work) => {
    opening = work(AbortSignal.abort())
    throw new Refusal(503, "service_unavailable", "Too late.")
  }
  await expect(begin(list, ndjson, { reader: readerWith({ withinDeadline }) })).rejects.toThrow("Too late.")
  await opening
  await expect.poll(countConnections).toBe(0)
})

const endings: [string, (opened: Awaited<ReturnType<typeof begin>>, abort: () => void) => unknown][] = [
  ["complete", ({ chunks }) => readRest(chunks)],
  ["canceled", ({ chunks }) => chunks.cancel()],
  ["without its client, which only the signal reports", (_opened, abort) => abort()],
]

test.each(endings)("a stream that is %s frees its slot and its connection", async (_name, finish) => {
  const id = randomUUID()
  for (let times = 0; times < 3; times++) {
    const aborting = new AbortController()
    const request = new Request("http://localhost:3000", { signal: aborting.signal })
    const opened = await begin(large, ndjson, { reader: readerWith({ id, request }) })
    await finish(opened, () => aborting.abort())
    await opened.ended
  }
  await expect.poll(countConnections).toBe(0)
})

test("a client that is gone before its stream starts takes no slot", async () => {
  const list = await listOf(1)
  const request = new Request("http://localhost:3000", { signal: AbortSignal.abort() })
  const { ended } = await openStream(readerWith({ request }), ndjson, list.streamed, times)
  expect(await ended).toEqual({ rows: 0, code: "client_disconnected" })
})

test("a reader has one stream at a time, in all processes, and a process sends the operator three", async () => {
  const [reader, other, third, fourth] = [readerWith(), readerWith(), readerWith(), readerWith()]
  const refusal = { status: 429, code: "rate_limited", headers: { "Retry-After": "5" } }
  const open = (by: Reader): Promise<StreamedBody> => openStream(by, ndjson, large.streamed, times)

  const opened = await begin(large, ndjson, { reader })
  await expect(open(reader)).rejects.toMatchObject(refusal)
  const others = [await begin(large, csv, { reader: other }), await begin(large, csv, { reader: fourth })]
  await expect(open(third)).rejects.toMatchObject({ status: 503, headers: { "Retry-After": "10" } })
  await opened.chunks.cancel()

  // As another process does.
  const client = new pg.Client(withSettings(String(process.env.DATABASE_URL)))
  await client.connect()
  await client.query("SELECT pg_advisory_lock(hashtextextended($1, 0))", [`stream of ${third.id}`])
  await expect(open(third)).rejects.toMatchObject(refusal)
  await client.end()
  const last = await begin(large, ndjson, { reader: third })
  const all = [last, ...others]
  await Promise.all(all.map(({ chunks }) => chunks.cancel()))
  await Promise.all(all.map(({ ended }) => ended))
})

const full = { status: 503, headers: { "Retry-After": "10" } }
const kinds = Object.keys(maxStreams) as StreamKind[]

/** Takes all slots of a kind, each for another account. */
function fill(kind: StreamKind) {
  return Array.from({ length: maxStreams[kind].total }, () => taken(readerWith({ kind })))
}

function taken(reader: StreamReader): StreamSlot {
  const slot = takeSlot(reader)
  return typeof slot === "string" ? expect.fail(slot) : slot
}

test("customers, exports and the operator never take each other's slots", async () => {
  const slots = kinds.flatMap(fill)
  for (const kind of kinds) {
    await expect(openStream(readerWith({ kind }), csv, large.streamed, times)).rejects.toMatchObject(full)
  }
  for (const slot of slots) slot.leave()
})

test("an account exports its data while its streams are read", () => {
  const account = randomUUID()
  const slots = kinds.map((kind) => taken(readerWith({ kind, account })))
  for (const slot of slots) slot.leave()
})

test.each(kinds)("an account leaves a slot of each kind to others, with any of its keys: %s", (kind) => {
  const account = randomUUID()
  const own = () => readerWith({ kind, account })
  const slots = Array.from({ length: maxStreams[kind].account }, () => taken(own()))
  expect(takeSlot(own())).toBe("own")
  slots.push(taken(readerWith({ kind })))
  for (const slot of slots) slot.leave()
})

test("a free slot is kept for the account that was refused first, as long as it keeps trying", () => {
  vi.useFakeTimers({ toFake: ["performance"] })
  onTestFinished(() => void vi.useRealTimers())
  const kind = "customer"
  const slots = fill(kind)
  const [first, second] = [readerWith({ kind }), readerWith({ kind })]
  expect([takeSlot(first), takeSlot(second), takeSlot(first)]).toEqual(["full", "full", "full"])
  // A reader that leaves its slot asks again at once.
  const again = slots.pop() ?? expect.fail()
  again.leave()
  expect([takeSlot(again.reader), takeSlot(second)]).toEqual(["full", "full"])
  vi.advanceTimersByTime(retrySeconds * 1_000)
  slots.push(taken(first))
  expect(takeSlot(again.reader)).toBe("full")
  slots.shift()?.leave()
  vi.advanceTimersByTime(retrySeconds * 1_000)
  // The second one has not tried again, and no longer waits.
  slots.push(taken(again.reader))
  for (const slot of slots) slot.leave()
})

test("a client that reads 16 KB a second keeps its slot, and one that reads 100 bytes a second loses it in two minutes", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"] })
  onTestFinished(() => void vi.useRealTimers())
  const read = async (bytes: number, everyMs: number, reads: number) => {
    const next = async () => ({ chunk: Buffer.alloc(bytes), rows: 1, isLast: false })
    const { stream, ended } = await openChunks(readerWith(), "text/csv", async () => ({ next, abort: () => {} }))
    const chunks = stream.getReader()
    const over = vi.fn()
    void ended.then(over)
    for (let count = 0; count < reads && over.mock.calls.length === 0; count++) {
      await chunks.read()
      await vi.advanceTimersByTimeAsync(everyMs)
    }
    if (over.mock.calls.length === 0) await chunks.cancel()
    return ended
  }
  // As TCP passes it on: in bursts.
  expect(await read(1_440_000, 90_000, 6)).toEqual({ rows: 6, code: "client_disconnected" })
  expect(await read(16_000, 1_000, 590)).toEqual({ rows: 590, code: "client_disconnected" })
  expect(await read(2_000, 20_000, 30)).toEqual({ rows: 7, code: "stream_timeout" })
})

test("the time in which rows are read does not count as the client's", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"] })
  onTestFinished(() => void vi.useRealTimers())
  let found = (_chunk: { chunk: Buffer; rows: number; isLast: boolean }) => {}
  const next = () => new Promise<{ chunk: Buffer; rows: number; isLast: boolean }>((resolve) => (found = resolve))
  const { stream, ended } = await openChunks(readerWith(), "text/csv", async () => ({ next, abort: () => {} }))
  const chunks = stream.getReader()
  const reading = chunks.read()
  await vi.advanceTimersByTimeAsync(300_000)
  found({ chunk: Buffer.alloc(1), rows: 1, isLast: true })
  await reading
  expect(await ended).toEqual({ rows: 1 })
})

test("a request is logged when its stream has ended, with the rows that were sent", async () => {
  const user = await createUser()
  await createOrders(user, 1_200)
  const { secret, key } = await createKey({ user, surface: "user" })
  const headers = { "x-api-key": secret, accept: "application/x-ndjson" }
  const logged = async () => {
    await drainRequestLog()
    return db().keyRequest.findMany({ where: { keyId: key.id }, orderBy: { createdAt: "asc" } })
  }
  for (const [index, rows] of [1_200, 500].entries()) {
    const { body } = await orders(new Request("http://localhost:3000/api/v1/me/orders", { headers }))
    const reader = body?.getReader() ?? expect.fail()
    await reader.read()
    expect(await logged()).toHaveLength(index)
    if (rows === 500) await reader.cancel()
    else await readRest(reader)
    const entries = await logged()
    expect(entries[index]).toMatchObject({
      route: "/api/v1/me/orders",
      status: 200,
      rows,
      code: rows === 500 ? "client_disconnected" : null,
    })
  }
})

test("before the process exits, streams end as incomplete and no more are started", async () => {
  const [asLines, asCsv] = [await begin(large, ndjson), await begin(large, csv)]
  await drainStreams()
  const error = { code: "service_unavailable", message: "The server is being restarted. Start the stream again." }
  expect(linesOf(await readRest(asLines.chunks))).toEqual([{ error }])
  await expect(readRest(asCsv.chunks)).rejects.toThrow()
  await expect(begin(large, ndjson)).rejects.toMatchObject({ status: 503, headers: { "Retry-After": "2" } })
})

test("a file for people has decimals in the digits of the currency, and the API minor units", () => {
  const columns = ["amount", "refundedAmount", "credits", "currency"]
  const rowIn = (currency: string) => ({ amount: 105_000, refundedAmount: 5, credits: 200, currency })
  expect(["usd", "jpy", "kwd", "huf"].map((currency) => csvFile.row(rowIn(currency), columns))).toEqual([
    "1050.00,0.05,200,usd\r\n",
    "105000,5,200,jpy\r\n",
    "105.000,0.005,200,kwd\r\n",
    "1050.00,0.05,200,huf\r\n",
  ])
  expect(csv.row(rowIn("usd"), columns)).toBe("105000,5,200,usd\r\n")
  expect(csvFile.row({ amount: 200 }, ["amount"])).toBe("200\r\n")
})
