import { randomUUID } from "node:crypto"
import fc from "fast-check"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { endpoints, type ServedEndpoint } from "@/app/api/v1/endpoints"
import { neededForCall } from "@/app/api/v1/needed-for-call"
import { exampleBody, type JsonSchema } from "@/lib/api/documents/document"
import { newSecret } from "@/lib/keys/secret"
import { pool } from "@/lib/platform/postgres/pool"
import { writeEntries } from "@/lib/request-log/write"
import type { Surface } from "@/lib/surfaces"
import { seed as seedDatabase } from "@/prisma/seed"
import { createKey, createOrder, createUser, grantCredits, requestWith } from "@/tests/support/factories"
import { findViolations } from "@/tests/support/ledger-invariants"
import { openApiViolations } from "@/tests/support/openapi-violations"
import { ownerPool } from "@/tests/support/owner"
import { isTime, valuesOf } from "@/tests/support/parameter-values"
import { ask, type RawResponse, type Sent } from "@/tests/support/raw-http"
import { isLong, listeners } from "@/tests/support/sample"
import type { TestServer } from "@/tests/support/server"
import { server as shared, startAnother } from "@/tests/support/shared-server"
import { insertYourRow } from "@/tests/support/your-rows"

// Random requests, generated from the OpenAPI document that the server serves: valid ones and almost valid ones. The
// test computes the expected response to each. FUZZ_SEED repeats a test run, FUZZ_RUNS sets its number of requests.

const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31)
const runs = Number(process.env.FUZZ_RUNS ?? (isLong ? 30_000 : 480))

type Parameter = { name: string; in: "query" | "header"; schema: JsonSchema }
type Operation = {
  parameters: Parameter[]
  requestBody?: object
  responses: Record<string, { $ref?: string; headers?: Record<string, unknown> }>
}
type Document = {
  paths: Record<string, Record<string, Operation>>
  components: { responses: Record<string, { headers?: Record<string, unknown> }> }
}

const all = await endpoints()
const runsEach = Math.ceil(runs / listeners.length / all.length)

/** A percent-encoded value and whether it is valid, with its time or its order for checks across parameters. */
type Value = { raw: string; valid: boolean; ms?: number; order?: string }

const good = (raw: string): Value => ({ raw: encodeURIComponent(raw), valid: true })
const bad = (raw: string): Value => ({ raw: encodeURIComponent(raw), valid: false })

/** Values that every parameter rejects. The first ones are percent-encoded already. */
const alwaysInvalid = fc.oneof(
  fc.constantFrom("", "%00", "a%00", "%ff", "%C0%AF", "%ED%A0%80", "%ED%B0%80").map((raw) => ({ raw, valid: false })),
  fc.constantFrom("' OR '1'='1", "__proto__ ", "{}", "null\n", "../..", "<script>", "%", "💥").map(bad),
  fc.string({ minLength: 260, maxLength: 2_000, unit: "grapheme-ascii" }).map(bad),
)

const wrongNumbers = [
  "1e2",
  "0x10",
  "1.0",
  "+5",
  " 5",
  "5 ",
  "05",
  "-0",
  "NaN",
  "Infinity",
  "１０",
  "٥",
  "9".repeat(40),
  "1_0",
]

const wrongTimes = [
  ...["2024-02-30", "2023-02-29", "2024-13-01", "0000-01-01", "10000-01-01", "-000001-01-01", "+010000-01-01"],
  ...["2024-01-01T24:00:00Z", "2016-12-31T23:59:60Z", "2024-01-01T00:00:00", "2024-01-01T00:00:00+25:00"],
  ...["2024-01-01T00:00:00 02:00", "tomorrow", "Jan 1", "2024-W01", "1e12", "-62135596800001", "253402300800000"],
  ...["2025", "1767225600"],
]

const anyTime = { min: new Date("0001-01-02T00:00:00Z"), max: new Date("9999-12-30T00:00:00Z"), noInvalidDate: true }
const recent = { min: new Date("2024-01-01T00:00:00Z"), max: new Date("2026-01-01T00:00:00Z"), noInvalidDate: true }

/** A time in a format that the API accepts. Statistics and metrics refuse the future and thousands of days. */
function moment(path: string, endOfDay: boolean): fc.Arbitrary<Value> {
  const date = /\/(stats|metrics)$/.test(path) ? fc.date(recent) : fc.oneof(fc.date(anyTime), fc.date(recent))
  return fc.tuple(date, fc.nat(3)).map(([moment, form]) => {
    const ms = moment.getTime()
    const iso = moment.toISOString()
    const day = iso.slice(0, 10)
    if (form === 0) return { ...good(day), ms: Date.parse(`${day}T${endOfDay ? "23:59:59.999" : "00:00:00.000"}Z`) }
    // Numbers between these are years, or times in seconds.
    if (form === 1 && (ms <= 0 || ms >= Date.UTC(2000))) return { ...good(String(ms)), ms }
    if (form === 2) return { ...good(iso), ms }
    return { ...good(iso.replace("Z", "+02:00")), ms: ms - 2 * 3_600_000 }
  })
}

/** The cursors of each list, for both orders, as its own responses return them. */
const cursors = new Map<string, Value[]>()

function validValue(endpoint: ServedEndpoint, { name, schema }: Parameter): fc.Arbitrary<Value> {
  const { path } = endpoint
  const names = namesIn(endpoint)[name]
  if (names) return fc.constantFrom(...names).map(good)
  if (isTime(name)) return moment(path, /until$/i.test(name))
  if (name === "cursor") return fc.constantFrom(...(cursors.get(path) ?? []))
  return valuesOf(name, schema).map((value) => ({ ...good(value), ...(name === "order" && { order: value }) }))
}

/** The names that metrics accept in some questions, by parameter. */
function namesIn({ families = [] }: ServedEndpoint): Record<string, readonly string[]> {
  if (families.length === 0) return {}
  const measure = families.flatMap(({ family }) => Object.keys(family.measures))
  const by = ["day", "week", "month", ...families.flatMap(({ family }) => Object.keys(family.dimensions))]
  return { measure, by, sort: [...measure, ...by] }
}

function invalidValue({ name, schema }: Parameter): fc.Arbitrary<Value> {
  // A search can be for almost any text.
  if (name === "q") return fc.constantFrom("", "  ab ", "a\u0301b", "ab\n\n", "a\0b", "x".repeat(101)).map(bad)
  return fc.oneof(alwaysInvalid, almostValid(name, schema))
}

function almostValid(name: string, schema: JsonSchema): fc.Arbitrary<Value> {
  if (isTime(name)) return fc.constantFrom(...wrongTimes).map(bad)
  if (name === "cursor")
    return fc.string({ maxLength: 40 }).map((text) => bad(Buffer.from(`up ${text}`).toString("base64url")))
  if (name === "email")
    return fc.constantFrom("a", "a@", "@a", "a@b", "a b@c.example", `${"a".repeat(250)}@a.example`).map(bad)
  if (schema.enum) {
    return fc
      .constantFrom(
        "__proto__",
        "constructor",
        "toString",
        ...schema.enum.map(String).flatMap((value) => [value.toUpperCase(), `${value} `, value.slice(1)]),
      )
      .map(bad)
  }
  if (schema.type === "integer") {
    const { minimum = 0, maximum = 0 } = schema
    return fc
      .constantFrom(...wrongNumbers, String(minimum - 1), String(maximum + 1), String(2 ** 32 + 1), String(2 ** 53))
      .map(bad)
  }
  if (schema.format === "uuid")
    return fc
      .uuid()
      .chain((id) => fc.constantFrom(id.slice(1), `${id}0`, `{${id}}`, id.replaceAll("-", ""), "42").map(bad))
  return fc.constantFrom("A", "1a", "a b", "a%", "a'", "a".repeat(65)).map(bad)
}

type Given = { name: string; value: Value }

function query(endpoint: ServedEndpoint, parameters: readonly Parameter[]): fc.Arbitrary<Given[]> {
  const some = parameters.map((parameter) => {
    const { name } = parameter
    const value = mostly(validValue(endpoint, parameter), invalidValue(parameter), 24)
    const given = value.map((one) => ({ name, value: one }))
    if (endpoint.required?.includes(name)) return mostly(given, fc.constant(undefined), 20)
    // Few of the filters of metrics fit a question.
    return mostly(fc.constant(undefined), given, endpoint.families && endpoint.filters[name] ? 60 : 2)
  })
  const unknown = fc
    .constantFrom("userId[]", "user_id", "LIMIT", "limit[]", "constructor", "toString", "a b", "ü", "")
    .map((name) => ({ name: encodeURIComponent(name), value: { raw: "1", valid: false } }))
  const more = mostly(fc.constant(undefined), fc.oneof(unknown, fc.constant("again" as const)), 9)
  return fc.tuple(fc.tuple(...some), more).map(([given, another]) => {
    const pairs = given.filter((pair) => pair !== undefined)
    if (another === "again") return [...pairs, ...pairs.slice(0, 1)]
    return another ? [...pairs, another] : pairs
  })
}

/** The first arbitrary, `times` times as often as the other. */
function mostly<One, Other>(
  one: fc.Arbitrary<One>,
  other: fc.Arbitrary<Other>,
  times: number,
): fc.Arbitrary<One | Other> {
  return fc.oneof({ weight: times, arbitrary: one }, { weight: 1, arbitrary: other })
}

/** Whether each value of a query is valid, and their combination. */
function isValidQuery(given: readonly Given[]): boolean {
  const names = given.map(({ name }) => name)
  if (new Set(names).size < names.length || given.some(({ value }) => !value.valid)) return false
  const of = (name: string) => given.find((pair) => pair.name === name)?.value
  for (const { name, value } of given) {
    const until = /since$/i.test(name) && of(name.replace(/since$/, "until").replace(/Since$/, "Until"))
    if (until && Number(value.ms) > Number(until.ms)) return false
  }
  const [cursor, order, sort] = [of("cursor"), of("order"), of("sort")]
  if (cursor && sort && sort.raw !== "createdAt") return false
  return !(cursor && (of("offset") || (order && order.order !== cursor.order)))
}

const credentials = [
  "works",
  "none",
  "garbage",
  "unknown",
  "checksum",
  "revoked",
  "expired",
  "two",
  "other",
  "banned",
] as const

type Credential = (typeof credentials)[number]

/** A method that does not exist needs no key, but a well-formed one is authenticated first. */
const wellFormedAndRefused: readonly Credential[] = ["unknown", "revoked", "expired"]

const credential = mostly(fc.constant<Credential>("works"), fc.constantFrom(...credentials), 4)

/** `meaning` is the value of a body in any notation. Only the work decides whether it accepts a `doubtful` body. */
type Body = { bytes: string | Buffer; valid: boolean; tooLarge?: boolean; doubtful?: boolean; meaning?: string }

const text = fc.oneof(
  fc.constantFrom("a", "b", "", "\0", "\ud800"),
  fc.string({ minLength: 1, maxLength: 800, unit: "binary" }),
  fc.integer({ min: 1, max: 1_100 }).map((words) => "word ".repeat(words)),
)

/** A value like the one in the example, of the same type. */
function valueLike(example: unknown): fc.Arbitrary<unknown> {
  if (typeof example === "string") return text
  if (typeof example === "number") return fc.oneof(fc.integer(), fc.double({ min: -1e6, max: 1e6, noNaN: true }))
  if (typeof example === "boolean") return fc.boolean()
  if (Array.isArray(example)) return fc.array(valueLike(example[0]), { maxLength: 100 })
  if (typeof example !== "object" || example === null) return fc.constant(example)
  return fc.record(Object.fromEntries(Object.entries(example).map(([name, value]) => [name, valueLike(value)])))
}

const wrongBodies: readonly Body[] = [
  ...["", "null", "[]", '"x"', "1", "{", "{}x", '{"a":1}x', '{"a":1,"a":1}', "a=b"],
  ...["[".repeat(30_000), '{"a":'.repeat(10_000)],
].map((bytes) => ({ bytes, valid: false }))

const notUtf8 = fc
  .uint8Array({ minLength: 1, maxLength: 50 })
  .map((bytes): Body => ({ bytes: Buffer.from([0xff, ...bytes]), valid: false }))
const tooLarge = fc
  .integer({ min: 65_537, max: 200_000 })
  .map((size): Body => ({ bytes: "a".repeat(size), valid: false, tooLarge: true }))

/** Bodies for a POST: its example in two notations, and values that its schema may accept. */
function bodiesOf(endpoint: ServedEndpoint): fc.Arbitrary<Body> {
  const example = exampleBody(endpoint) ?? {}
  const schema = endpoint.body
  const bytesOfExample = JSON.stringify(example)
  // An Idempotency-Key belongs to one endpoint.
  const meaningOf = (read: unknown) => `${endpoint.path} ${JSON.stringify(read)}`
  const accepted = { valid: true, meaning: meaningOf(example) }
  const similar = valueLike(example).map((value): Body => {
    const bytes = JSON.stringify(value)
    const read: unknown = JSON.parse(bytes)
    const tooLarge = Buffer.byteLength(bytes) > 65_536
    const valid = !tooLarge && schema?.safeParse(read).success === true
    return { bytes, valid, tooLarge, doubtful: valid, meaning: meaningOf(read) }
  })
  const intruding = ["cost", "userId", "__proto__", "constructor"].map((name): Body => {
    return { bytes: bytesOfExample.replace("{", `{"${name}":{},`), valid: false }
  })
  const repeated = { bytes: `${bytesOfExample.slice(0, -1)},${bytesOfExample.slice(1)}`, valid: false }
  return fc.oneof(
    {
      weight: 4,
      arbitrary: fc.constantFrom<Body>(
        { bytes: bytesOfExample, ...accepted },
        { bytes: `\uFEFF ${bytesOfExample}\n`, ...accepted },
      ),
    },
    { weight: 6, arbitrary: similar },
    { weight: 3, arbitrary: fc.constantFrom(...wrongBodies, ...intruding, repeated) },
    { weight: 1, arbitrary: notUtf8 },
    { weight: 1, arbitrary: tooLarge },
  )
}

/** Reports of leaked keys: keys that were never issued, malformed keys and any other text. */
const reported = fc.oneof(
  fc.constantFrom("user" as const, "admin" as const).map((surface) => newSecret(surface)),
  fc.constantFrom("user" as const, "admin" as const).map((surface) => `${newSecret(surface).slice(0, -6)}000000`),
  fc.string({ maxLength: 200, unit: "binary" }),
)

const leakBody: fc.Arbitrary<Body> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .array(reported, { minLength: 1, maxLength: 100 })
      .map((keys) => JSON.stringify({ keys }))
      .map((bytes) => {
        const isValid = Buffer.byteLength(bytes) <= 65_536
        return { bytes, valid: isValid, tooLarge: !isValid }
      }),
  },
  { weight: 1, arbitrary: fc.array(reported, { minLength: 101, maxLength: 110 }).map(tooMany) },
  { weight: 3, arbitrary: fc.constantFrom(...wrongBodies) },
)

function tooMany(keys: readonly string[]): Body {
  return { bytes: JSON.stringify({ keys: keys.map((key) => key.slice(0, 60)) }), valid: false }
}

type IdempotencyKey = { sent: string; valid: boolean; meaning: string }

/** Few, so that requests repeat them. */
const validKeys = fc
  .constantFrom("one", "other", "~", "k".repeat(255))
  .chain((key) => fc.constantFrom(key, `"${key}"`).map((sent) => ({ sent, valid: true, meaning: key })))

const invalidKeys = fc
  .constantFrom("", '""', "a b", "k".repeat(256), "a, b", "\xfc", '"a', 'a"b', "a\tb")
  .map((sent) => ({ sent, valid: false, meaning: "" }))

const idempotencyKey = mostly(
  fc.constant(undefined),
  mostly<IdempotencyKey, IdempotencyKey>(validKeys, invalidKeys, 8),
  1,
)

type Case = {
  method: string
  given: Given[]
  credential: Credential
  lowBalance: boolean
  body: Body
  chunked: boolean
  idempotencyKey: IdempotencyKey | undefined
}

const methods = fc.constantFrom("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

function cases(endpoint: ServedEndpoint, { parameters }: Operation): fc.Arbitrary<Case> {
  return fc.record({
    method: mostly(fc.constant<string>(endpoint.method), methods, 6),
    given: query(
      endpoint,
      parameters.filter((parameter) => parameter.in === "query"),
    ),
    credential,
    lowBalance: mostly(fc.constant(false), fc.constant(true), 7),
    body: bodiesOf(endpoint),
    chunked: fc.boolean(),
    idempotencyKey,
  })
}

/** One credit less than any call needs. */
const tooFew = Number(await neededForCall()) - 1

/** The keys in use. They are replaced before they reach the rate limit, because the servers' clock stands still. */
type KeySet = Record<Exclude<Credential, "none" | "two">, Record<Surface, string>> & {
  lowBalanceKey: string
  fundedAccount: Account
  lowBalanceAccount: Account
}

/** The expected state of an account: its number of runs, and the response stored under each idempotency key. */
type Account = { id: string; runs: number; stored: Map<string, { meaning: string; body: string }> }

async function newKeySet(): Promise<KeySet> {
  const [fundedAccount, lowBalanceAccount, banned] = [
    await createUser({ role: "owner" }),
    await createUser({ role: "owner" }),
    await createUser({ role: "owner", status: "banned" }),
  ]
  await grantCredits(fundedAccount.id, 1_000_000)
  if (tooFew > 0) await grantCredits(lowBalanceAccount.id, tooFew)
  await createOrder({ userId: fundedAccount.id })
  const pair = async (of: (surface: Surface) => Promise<string>) => ({
    user: await of("user"),
    admin: await of("admin"),
  })
  const keyOf = (user: { id: string }, more = {}) =>
    pair(async (surface) => (await createKey({ user, surface, ...more })).secret)
  const works = await keyOf(fundedAccount)
  const { key } = await createKey({ user: fundedAccount, surface: "user" })
  // A list of one row has no next cursor.
  const days = [1, 2, 3].map((day) => requestWith(key, { createdAt: new Date(Date.now() - day * 86_400_000) }))
  await writeEntries(pool(), days)
  return {
    works,
    other: { user: works.admin, admin: works.user },
    banned: await keyOf(banned),
    revoked: await keyOf(fundedAccount, { revokedAt: new Date() }),
    expired: await keyOf(fundedAccount, { expiresAt: new Date(0) }),
    unknown: await pair(async (surface) => newSecret(surface)),
    checksum: await pair(async (surface) => `${newSecret(surface).slice(0, -6)}000000`),
    garbage: await pair(async () => randomUUID()),
    lowBalanceKey: (await createKey({ user: lowBalanceAccount, surface: "user" })).secret,
    fundedAccount: { id: fundedAccount.id, runs: 0, stored: new Map() },
    lowBalanceAccount: { id: lowBalanceAccount.id, runs: 0, stored: new Map() },
  }
}

/** The number of requests before the keys are replaced: less than the open run intents of an account. */
const requestsPerSet = 99

function sentBy(
  keySet: KeySet,
  { path, surface, metered, body: schema }: ServedEndpoint,
  one: Case,
  address: string,
): Sent {
  const { method, given, credential, body, idempotencyKey } = one
  const search = given.map(({ name, value }) => `${name}=${value.raw}`).join("&")
  return {
    method,
    path: search ? `${path}?${search}` : path,
    headers: {
      "x-forwarded-for": address,
      ...keysSent(keySet, surface, one),
      ...(metered && idempotencyKey && { "idempotency-key": idempotencyKey.sent }),
      ...(schema &&
        method === "POST" && {
          "content-type": "application/json",
          ...(one.chunked && { "transfer-encoding": "chunked" }),
        }),
    },
    ...(schema && method === "POST" && { body: body.bytes }),
  }

  function keysSent(of: KeySet, on: Surface, { lowBalance }: Case): Record<string, string> {
    if (credential === "none") return {}
    if (credential === "two") return { "x-api-key": of.works[on], authorization: `Bearer ${of.revoked[on]}` }
    return credential === "works" && lowBalance && metered
      ? { authorization: `bearer ${of.lowBalanceKey}` }
      : { "x-api-key": of[credential][on] }
  }
}

/** The permitted statuses of the response. For metrics, they depend on all parameters of the question. */
function expectedStatuses(endpoint: ServedEndpoint, one: Case, account: Account): readonly number[] {
  const { families, filters, required = [] } = endpoint
  if (!families) {
    const status = expectedStatus(endpoint, one, account)
    return status === 200 && endpoint.body && one.body.doubtful ? [status, 400] : [status]
  }
  const given = one.given.filter(({ name }) => !Object.hasOwn(filters, name))
  const isComplete = required.every((name) => given.some((pair) => pair.name === name))
  const status = expectedStatus(endpoint, { ...one, given }, account)
  if (status !== 200) return [status]
  return isComplete ? [200, 400] : [400]
}

function expectedStatus(endpoint: ServedEndpoint, one: Case, account: Account): number {
  const { method, credential, given, body, idempotencyKey } = one
  if (method === "OPTIONS") return 204
  if (method !== endpoint.method && !(method === "HEAD" && endpoint.method === "GET")) {
    return wellFormedAndRefused.includes(credential) ? 401 : 405
  }
  if (credential === "two") return 400
  if (credential === "other" || credential === "banned") return 403
  if (credential !== "works") return 401
  if (!isValidQuery(given)) return 400
  if (!endpoint.body) return 200
  if (endpoint.metered && idempotencyKey?.valid === false) return 400
  if (body.tooLarge) return 413
  if (!body.valid) return 400
  // The id in the body is nobody's.
  if (endpoint.errors?.includes("not_found")) return 404
  if (!endpoint.metered) return 200
  const stored = idempotencyKey && account.stored.get(idempotencyKey.meaning)
  if (stored) return stored.meaning === body.meaning ? 200 : 422
  return one.lowBalance ? 402 : 200
}

/** How the body of a response deviates from the document. */
async function openApiViolationsOf(
  operation: Pick<ServedEndpoint, "path" | "method">,
  method: string,
  { status, headers, body }: RawResponse,
  query?: URLSearchParams,
): Promise<string | readonly unknown[]> {
  if (method === "HEAD" || status === 204) return body === "" ? [] : ["a body"]
  const type = { "content-type": String(headers.get("content-type")) }
  return openApiViolations(operation, method, new Response(body, { status, headers: type }), query).catch(String)
}

const everywhere = { "cache-control": "no-store", "x-content-type-options": "nosniff" }

/** Documented headers that only some responses have. */
const optional = ["Data-As-Of", "Idempotency-Replayed", "Key-Expires", "Link"]

describe.each(listeners)("%s", (listener) => {
  let server: TestServer
  let document: Document
  let keySet: KeySet
  let sentByKeySet = 0
  let requests = 0
  const statuses: Record<string, number> = {}

  beforeAll(async () => {
    console.log(`FUZZ_SEED=${seed} FUZZ_RUNS=${runs}`)
    if (listener === listeners[0]) await seedDatabase(ownerPool(), { users: 60, now: new Date() })
    server = listener === "lean" ? shared : await startAnother(listener)
    document = JSON.parse((await ask(server.address, { path: "/api/v1/openapi.json" })).body)
    keySet = await newKeySet()
    for (const endpoint of all) await readCursors(endpoint)
  })

  afterAll(async () => {
    console.log(`${listener}: ${requests} requests, ${JSON.stringify(statuses)}`)
    if (server !== shared) await server.stop()
    expect(await findViolations(pool())).toEqual([])
  })

  async function readCursors({ path, shape, surface }: ServedEndpoint): Promise<void> {
    if (shape !== "list") return
    const values: Value[] = []
    for (const order of ["asc", "desc"]) {
      const headers = { "x-api-key": keySet.works[surface], "x-forwarded-for": "10.9.9.9" }
      // A list of one row has no next cursor, so a row is added to each list of the account.
      if (surface === "user") {
        await createOrder({ userId: keySet.fundedAccount.id })
        await grantCredits(keySet.fundedAccount.id, 1)
        for (let rows = 0; rows < 2; rows++) await insertYourRow(keySet.fundedAccount.id)
      }
      const { body: page } = await ask(server.address, { path: `${path}?limit=1&order=${order}`, headers })
      values.push({ ...good(JSON.parse(page).meta.nextCursor), order })
    }
    cursors.set(path, values)
  }

  test.each(all)(
    `$method $path returns the documented response to each of ${runsEach} requests`,
    { timeout: 60_000 + runsEach * 100 },
    async (endpoint) => {
      const operation = document.paths[endpoint.path]?.[endpoint.method.toLowerCase()]
      if (!operation) throw new Error("The OpenAPI document lacks this operation.")
      const property = fc.asyncProperty(fc.limitShrink(cases(endpoint, operation), 100), async (one) => {
        const wrong = await attempt(endpoint, operation, one)
        if (wrong.length > 0) throw new Error(wrong.join("\n"))
      })
      const { failed, errorInstance, numRuns } = await fc.check(property, { seed, numRuns: runsEach })
      // Leaves out the counterexample, which may be long: the message names the request.
      if (failed)
        expect.fail(
          `after ${numRuns} requests of FUZZ_SEED=${seed}: ${errorInstance instanceof Error ? errorInstance.message : errorInstance}`,
        )
    },
  )

  test(`POST /api/leaks returns the documented response to each of ${runsEach} requests, the same for all keys`, {
    timeout: 60_000 + runsEach * 100,
  }, async () => {
    const one = fc.record({ method: mostly(fc.constant("POST"), methods, 6), body: leakBody, chunked: fc.boolean() })
    const property = fc.asyncProperty(one, async ({ method, body, chunked }) => {
      requests++
      const response = await ask(server.address, {
        method,
        path: "/api/leaks",
        headers: {
          "content-type": "application/json",
          "x-forwarded-for": `10.200.${(requests >> 8) & 255}.${requests & 255}`,
          ...(method === "POST" && chunked && { "transfer-encoding": "chunked" }),
        },
        ...(method === "POST" && { body: body.bytes }),
      })
      const posted = body.tooLarge ? 413 : body.valid ? 202 : 400
      const status = method === "OPTIONS" ? 204 : method === "POST" ? posted : 405
      const operation = { path: "/api/leaks", method: "POST" } as const
      expect(response.status, String(body.bytes).slice(0, 200)).toBe(status)
      expect(await openApiViolationsOf(operation, method, response)).toEqual([])
      if (status === 202) expect(response.body).toBe('{"data":{"received":true}}')
    })
    await fc.assert(property, { seed, numRuns: runsEach })
  })

  /** Sends a request and returns the errors in the response. */
  async function attempt(endpoint: ServedEndpoint, operation: Operation, one: Case): Promise<string[]> {
    if (++sentByKeySet > requestsPerSet) {
      keySet = await newKeySet()
      sentByKeySet = 1
    }
    requests++
    const account = one.lowBalance ? keySet.lowBalanceAccount : keySet.fundedAccount
    const expected = expectedStatuses(endpoint, one, account)
    const sent = sentBy(keySet, endpoint, one, `10.${2 + (requests >> 16)}.${(requests >> 8) & 255}.${requests & 255}`)
    const response = await ask(server.address, sent)
    statuses[response.status] = (statuses[response.status] ?? 0) + 1
    const wrong = [
      ...(expected.includes(response.status)
        ? []
        : [`returned ${response.status}, not ${expected.join(" or ")}: ${response.body.slice(0, 200)}`]),
      ...(await differencesFrom(endpoint, operation, one, response)),
      ...(endpoint.metered ? await wronglyCharged(one, account, response) : []),
    ]
    const target = `${sent.method} ${sent.path.slice(0, 300)} ${one.credential}${one.lowBalance ? " lowBalance" : ""} ${one.idempotencyKey?.sent ?? ""} ${String(sent.body ?? "").slice(0, 100)}`
    return wrong.map((problem) => `${target}\n  ${problem}`)
  }

  /** How a response deviates from the document and from the headers that every response has. */
  async function differencesFrom(
    endpoint: ServedEndpoint,
    operation: Operation,
    { method, credential, given }: Case,
    response: RawResponse,
  ) {
    const { status, headers, body: received } = response
    const wrong: string[] = []
    if (status >= 500) wrong.push("a 5xx")
    for (const [name, value] of Object.entries(everywhere))
      if (headers.get(name) !== value) wrong.push(`${name}: ${headers.get(name)}`)
    if (!/^[\w-]{8,64}$/.test(headers.get("x-request-id") ?? ""))
      wrong.push(`X-Request-Id: ${headers.get("x-request-id")}`)
    if (status === 401 && headers.get("www-authenticate") !== "Bearer") wrong.push("no WWW-Authenticate")
    const allowed = endpoint.method === "GET" ? "GET, HEAD, OPTIONS" : "POST, OPTIONS"
    if ((status === 405 || status === 204) && headers.get("allow") !== allowed)
      wrong.push(`Allow: ${headers.get("allow")}`)
    if (method === "HEAD" || status === 204) return received === "" ? wrong : [...wrong, "a body"]
    const documented = status === 405 ? {} : headersOf(operation, status)
    for (const name of Object.keys(documented)) {
      // With two keys, neither is looked up, so no rate limit applies.
      const isAbsent = optional.includes(name) || (credential === "two" && name !== "X-Request-Id")
      if (!isAbsent && !headers.has(name)) wrong.push(`no ${name}`)
    }
    const query = new URLSearchParams(given.map(({ name, value }) => `${name}=${value.raw}`).join("&"))
    const violations = await openApiViolationsOf(endpoint, method, response, query)
    if (violations.length > 0) wrong.push(JSON.stringify(violations).slice(0, 500))
    return wrong
  }

  function headersOf({ responses }: Operation, status: number): Record<string, unknown> {
    const { $ref, headers } = responses[String(status)] ?? {}
    return ($ref ? document.components.responses[$ref.split("/").at(-1) ?? ""]?.headers : headers) ?? {}
  }

  /** Updates the expected state of an account and compares it: one run for each new success, and none for a refusal. */
  async function wronglyCharged(
    { body: sent, idempotencyKey: key }: Case,
    account: Account,
    response: RawResponse,
  ): Promise<string[]> {
    const wrong: string[] = []
    const stored = key && account.stored.get(key.meaning)
    const isReplay = response.headers.has("idempotency-replayed")
    if (response.status === 200 && isReplay !== (stored !== undefined)) wrong.push(`replayed: ${isReplay}`)
    if (response.status === 200 && stored && stored.body !== response.body) wrong.push("a replay of another response")
    if (response.status === 200 && !isReplay) {
      account.runs++
      if (key) account.stored.set(key.meaning, { meaning: sent.meaning ?? "", body: response.body })
    }
    const { rows } = await pool().query<{ runs: number; reserved: number; entries: number }>(
      `SELECT (SELECT count(*)::int FROM runs WHERE user_id = $1 AND state = 'settled') AS runs,
              (SELECT count(*)::int FROM runs WHERE user_id = $1 AND state = 'reserved') AS reserved,
              (SELECT count(*) FILTER (WHERE kind = 'reserve')::int - count(*) FILTER (WHERE kind = 'release')::int
               FROM credit_entries WHERE user_id = $1) AS entries`,
      [account.id],
    )
    const expected = { runs: account.runs, reserved: 0, entries: account.runs }
    if (JSON.stringify(rows[0]) !== JSON.stringify(expected))
      wrong.push(`${JSON.stringify(rows[0])}, not ${JSON.stringify(expected)}`)
    return wrong
  }
})
