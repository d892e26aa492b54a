import { randomUUID } from "node:crypto"
import { connect } from "node:net"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { endpoints } from "@/app/api/v1/endpoints"
import { hashSecret, newSecret, startOf } from "@/lib/keys/secret"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { kinds } from "@/lib/surfaces"
import { sessionOf } from "@/tests/support/client"
import { createKey, createOrder, createUser, grantCredits } from "@/tests/support/factories"
import { findViolations } from "@/tests/support/ledger-invariants"
import { ownerPool } from "@/tests/support/owner"
import { ask, type Sent, summaryOf } from "@/tests/support/raw-http"
import { inTurn, listeners } from "@/tests/support/sample"
import { startTestServer, type TestServer } from "@/tests/support/server"
import { server, startAnother } from "@/tests/support/shared-server"
import { otherBodies, work } from "@/tests/support/work"

// Malformed and malicious requests. raw-sockets.test.ts covers requests that need a raw connection;
// lib/api/metered.test.ts and lib/credits/mutations.test.ts cover runs whose work fails.

const all = await endpoints()
const adminPaths = all.flatMap(({ path, surface }) => (surface === "admin" ? [path] : []))
const mePaths = all.flatMap(({ path, surface, method }) => (surface === "user" && method === "GET" ? [path] : []))
const me = "/api/v1/me"
const orders = "/api/v1/me/orders"
const users = "/api/v1/admin/users"
const runs = work.path

let to: TestServer

afterAll(async () => {
  expect(await findViolations(pool())).toEqual([])
})

/** Creates an owner with credits and a key for each surface. */
async function customer({ balance = 100 * work.maxCost, role = "owner" } = {}) {
  const user = await createUser({ role })
  if (balance > 0) await grantCredits(user.id, balance)
  const [own, admin] = [await createKey({ user, surface: "user" }), await createKey({ user, surface: "admin" })]
  return { user, id: user.id, own: own.secret, admin: admin.secret, ownKey: own.key, adminKey: admin.key }
}

type Customer = Awaited<ReturnType<typeof customer>>

function withKey(path: string, key: string, more: Partial<Sent> = {}): Sent {
  return { ...more, path, headers: { "x-api-key": key, ...more.headers } }
}

let callers = 0

/** Sends each request from a different address, so that no rate limit of an address applies. */
function send({ headers, ...sent }: Sent) {
  callers++
  const address = `10.1.${callers >> 8}.${callers & 255}`
  return ask(to.address, { ...sent, headers: { "x-forwarded-for": address, ...headers } })
}

function runOf(key: string, headers: Record<string, string> = {}, body: string | Buffer = work.body): Sent {
  return withKey(runs, key, { method: "POST", headers: { "content-type": "application/json", ...headers }, body })
}

const fields = Object.entries<unknown>(JSON.parse(work.body))

/** The example with another field before its own. */
function bodyWith(field: string): string {
  return work.body.replace("{", `{${field},`)
}

/** The example with other white space and escaped names. */
const respelled = ` {\n${fields.map(([name, value]) => `"${escaped(name)}" : ${JSON.stringify(value)}`).join(" , ")} }`

function escaped(name: string): string {
  return [...name].map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`).join("")
}

/** The states of an account's runs, oldest first, and the sum of their costs, which its ledger has lost. */
async function record(userId: string) {
  const made = await db().run.findMany({ where: { userId }, orderBy: { createdAt: "asc" } })
  const { _sum } = await db().creditEntry.aggregate({
    where: { userId, kind: { not: "grant" } },
    _sum: { amount: true },
  })
  const cost = made.reduce((sum, { cost }) => sum + Number(cost ?? 0), 0)
  const held = made.filter(({ state }) => state === "reserved").length * work.maxCost
  expect(Number(_sum.amount ?? 0) + cost + held).toBe(0)
  return made.map(({ state }) => state)
}

const gate = 4711

/** The database connections whose settlement waits at the gate. */
const waiting = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = ${gate} AND NOT granted`

/** Runs `work` while every settlement waits for an advisory lock, the gate. Settlements continue afterwards. */
async function whileSettling<Result>(work: () => Promise<Result>): Promise<Result> {
  const client = await pool().connect()
  await client.query("SELECT pg_advisory_lock($1)", [gate])
  try {
    return await work()
  } finally {
    await client.query("SELECT pg_advisory_unlock($1)", [gate])
    client.release()
  }
}

/** Resolves once a settlement waits at the gate. */
async function settling(): Promise<void> {
  await expect.poll(async () => (await pool().query(waiting)).rowCount, { interval: 10 }).toBe(1)
}

beforeAll(async () => {
  await ownerPool().query(`
    CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN PERFORM pg_advisory_xact_lock_shared(${gate}); RETURN NEW; END';
    CREATE TRIGGER gate BEFORE UPDATE ON runs FOR EACH ROW WHEN (NEW.state = 'settled' AND OLD.state = 'reserved')
      EXECUTE FUNCTION wait_at_gate()`)
})

/** The requests to send with the keys of an account, and the response to each. */
type Row = readonly [name: string, sent: (caller: Customer) => Sent | readonly Sent[], response: string]

const credentials: readonly Row[] = [
  ["no header", () => ({ path: me }), "401 unauthorized"],
  ["a scheme without a key", () => ({ path: me, headers: { authorization: "Bearer" } }), "401 unauthorized"],
  [
    "a key without a scheme, or with another scheme",
    ({ own }) =>
      [own, `Basic ${own}`, `Bearer: ${own}`, `Token ${own}`].map((authorization) => ({
        path: me,
        headers: { authorization },
      })),
    "401 unauthorized",
  ],
  ["the scheme in lower case", ({ own }) => ({ path: me, headers: { authorization: `bearer ${own}` } }), "200"],
  [
    "a key prefix with random characters, and a key with a wrong checksum",
    ({ own }) =>
      [newSecret("user"), own.slice(0, -1) + (own.endsWith("0") ? "1" : "0"), own.slice(0, -1)].map((key) =>
        withKey(me, key),
      ),
    "401 unauthorized",
  ],
  [
    "a malformed key with the prefix of the other surface",
    () => withKey(me, `${kinds.admin.prefix}garbage`),
    "401 unauthorized",
  ],
  ["blanks around a key", ({ own }) => withKey(me, `  ${own} `), "200"],
  [
    "quotes, escapes and brackets around a key",
    ({ own }) =>
      [`"${own}"`, `'${own}'`, `${own}%20`, `${own}\\n`, `<${own}>`, `Bearer ${own}`].map((key) => withKey(me, key)),
    "401 unauthorized",
  ],
  ["two percent signs as a key", () => ({ path: me, headers: { authorization: "Bearer %%" } }), "401 unauthorized"],
  [
    "the same key in both headers",
    ({ own }) => withKey(me, own, { headers: { authorization: `Bearer ${own}` } }),
    "200",
  ],
  [
    "different keys in the two headers",
    ({ own, admin }) => withKey(me, own, { headers: { authorization: `Bearer ${admin}` } }),
    "400 bad_request",
  ],
  [
    "a user key of an owner on the admin API",
    ({ own }) => adminPaths.map((path) => withKey(path, own)),
    "403 wrong_scope",
  ],
  ["an admin key on the user API", ({ admin }) => mePaths.map((path) => withKey(path, admin)), "403 wrong_scope"],
  [
    "a key in the query",
    ({ own }) => ["api_key", "x-api-key", "key", "access_token"].map((name) => ({ path: `${me}?${name}=${own}` })),
    "401 unauthorized",
  ],
  [
    "the hash of a key",
    ({ own }) =>
      (["hex", "base64", "base64url"] as const).map((form) => withKey(me, Buffer.from(hashSecret(own)).toString(form))),
    "401 unauthorized",
  ],
  [
    "SQL, JSON and wildcards as a key",
    () =>
      ["' OR 1=1 --", '{"not":""}', "*", "%", `${kinds.user.prefix}%`, "null", "undefined", "true"].map((key) =>
        withKey(me, key),
      ),
    "401 unauthorized",
  ],
]

const otherMethods = ["POST", "PUT", "PATCH", "DELETE"]

const routing: readonly Row[] = [
  [
    "an unknown path",
    ({ own }) =>
      [
        "/api",
        "/api/zzz",
        "/api/v1",
        "/api/v1/x",
        `${me}%00`,
        "/api/v1/%zz",
        `${me}.rsc`,
        `${me}/x`,
        "/api/v1/admin",
        "/api/v2/me",
      ].map((path) => withKey(path, own)),
    "404 not_found",
  ],
  [
    "a write method on the admin API",
    ({ admin }) => adminPaths.flatMap((path) => otherMethods.map((method) => withKey(path, admin, { method }))),
    "405 method_not_allowed",
  ],
  ["GET on a metered endpoint", ({ own }) => withKey(runs, own), "405 method_not_allowed"],
]

const anyList = (caller: Customer, ...searches: string[]) => [
  ...searches.map((search) => withKey(`${orders}?${search}`, caller.own)),
  ...searches.map((search) => withKey(`${users}?${search}`, caller.admin)),
]

const queries: readonly Row[] = [
  [
    "a limit outside 1 to 500, or not in ASCII digits",
    (caller) =>
      anyList(
        caller,
        ...[
          "0",
          "-1",
          "501",
          "1e2",
          "0x10",
          "1.0",
          "%2B5",
          "%205",
          "５",
          "%EF%BC%91%EF%BC%90",
          "",
          "NaN",
          "null",
          "1_0",
          "١",
        ].map((value) => `limit=${encodeAll(value)}`),
      ),
    "400 bad_request",
  ],
  ["the minimum and the maximum limit", (caller) => anyList(caller, "limit=1", "limit=500"), "200"],
  ["a limit with a leading zero", (caller) => anyList(caller, "limit=05"), "400 bad_request"],
  [
    "a negative offset, or one that is not an integer",
    (caller) => anyList(caller, "offset=-1", "offset=-0", "offset=1.5", "offset=abc", "offset="),
    "400 bad_request",
  ],
  ["the maximum offset", ({ admin }) => withKey(`${users}?offset=2147483647`, admin), "200"],
  ["the maximum offset of customers", ({ own }) => withKey(`${orders}?offset=10000`, own), "200"],
  ["an offset beyond it", ({ own }) => withKey(`${orders}?offset=10001`, own), "400 bad_request"],
  [
    "an offset beyond 31, 32 and 53 bits, which could overflow to a small one",
    (caller) =>
      anyList(
        caller,
        ...[
          "2147483648",
          "4294967296",
          "4294967297",
          "9007199254740992",
          "9007199254740993",
          "18446744073709551616",
          "1e308",
          "9".repeat(400),
        ].map((value) => `offset=${value}`),
      ),
    "400 bad_request",
  ],
  [
    "a repeated parameter, or one as a list or an object",
    (caller) =>
      anyList(caller, "limit=1&limit=2", "limit=1&limit=1", "limit[]=1", "limit[a]=1", "limit.a=1", "limit%5B%5D=1"),
    "400 bad_request",
  ],
  [
    "an unknown parameter",
    (caller) => anyList(caller, "colour=red", "LIMIT=1", "limit%20=1", "constructor=1", "=1"),
    "400 bad_request",
  ],
  [
    "another account's id on the user API",
    ({ own, id }) =>
      mePaths.flatMap((path) =>
        ["userId", "user_id", "owner", "id"].map((name) => withKey(`${path}?${name}=${id}`, own)),
      ),
    "400 bad_request",
  ],
  [
    "an invalid date or time",
    (caller) =>
      anyList(
        caller,
        ...[
          "2024-02-30",
          "2023-02-29",
          "2024-13-01",
          "2024-00-10",
          "2024-01-00",
          "2024-04-31",
          "1900-02-29",
          "2024-01-01T24:00:00Z",
          "2024-01-01T00:60:00Z",
          "2016-12-31T23:59:60Z",
          "2024-01-01T00:00:00+25:00",
          "2024-01-01T00:00:00+00:60",
          "2024-W01",
          "2024-001",
          "01/02/2024",
          "Jan 1",
          "(x) 2024",
          "tomorrow",
          "２０２４-01-01",
          "2024-1-1",
          " 2024-01-01",
          "2024-01-01 ",
        ].map((value) => `since=${encodeURIComponent(value)}`),
      ),
    "400 bad_request",
  ],
  [
    "a date, a time with an offset, and epoch milliseconds",
    (caller) =>
      anyList(
        caller,
        "since=2024-01-01",
        "since=2024-02-29",
        "since=2024-01-01T00:00:00Z",
        "since=2024-01-01T00:00:00%2B02:00",
        "since=1700000000000",
      ),
    "200",
  ],
  [
    "the epoch, the millisecond before it, and the start of year 1",
    (caller) => anyList(caller, "since=0", "since=-1", "since=-62135596800000", "since=0001-01-01"),
    "200",
  ],
  [
    "a year before 1 or after 9999",
    (caller) =>
      anyList(
        caller,
        ...[
          "-62135596800001",
          "0000-01-01",
          "0000-12-31T23:59:59Z",
          "-0001-01-01",
          "-000001-01-01T00:00:00Z",
          "10000-01-01",
          "+010000-01-01T00:00:00Z",
          "253402300800000",
          "8640000000000001",
          "1".repeat(30),
          "9999-12-31T23:59:59-23:59",
          "0001-01-01T00:00:00+23:59",
        ].flatMap((value) => [`since=${encodeURIComponent(value)}`, `until=${encodeURIComponent(value)}`]),
      ),
    "400 bad_request",
  ],
  [
    "since equal to until",
    (caller) =>
      anyList(
        caller,
        "since=2026-01-01T00:00:00Z&until=2026-01-01T00:00:00Z",
        "since=1700000000005&until=1700000000005",
        "since=2026-01-01&until=2026-01-01",
      ),
    "200",
  ],
  [
    "since after until",
    (caller) => anyList(caller, "since=2026-02-01&until=2026-01-31", "since=1700000000006&until=1700000000005"),
    "400 bad_request",
  ],
  [
    "a value of 4,000 characters",
    ({ admin }) => withKey(`${users}?email=${"a".repeat(4_000)}`, admin),
    "400 bad_request",
  ],
  [
    "SQL and wildcards as a value",
    ({ admin }) =>
      ["active' OR '1'='1", "%", "_", "act%", "*"].map((value) =>
        withKey(`${users}?status=${encodeURIComponent(value)}`, admin),
      ),
    "400 bad_request",
  ],
  [
    "more than 50 parameters",
    (caller) => anyList(caller, "a=1&".repeat(51), "a&".repeat(3_000), `${"&".repeat(3_000)}b`),
    "400 bad_request",
  ],
  ["10,000 parameters", (caller) => anyList(caller, "a&".repeat(10_000)), "431 headers_too_large"],
]

/** Percent-encodes a value, unless it is encoded already. */
function encodeAll(value: string): string {
  return value.includes("%") ? value : encodeURIComponent(value)
}

/** The example, padded to this many bytes. */
function bodyOf(bytes: number): string {
  return work.body.padEnd(bytes)
}

const bodies: readonly Row[] = [
  [
    "a body that is not a JSON object",
    ({ own }) =>
      ["", "null", "[]", '"x"', "1", "NaN", "{", `${work.body}x`, `${work.body}{"a":1}`, "{a:1}"].map((body) =>
        runOf(own, {}, body),
      ),
    "400 bad_request",
  ],
  [
    "one byte more than 64 KiB, with Content-Length",
    ({ own }) => runOf(own, {}, bodyOf(65_537)),
    "413 payload_too_large",
  ],
  [
    "one byte more than 64 KiB, in chunks",
    ({ own }) => runOf(own, { "transfer-encoding": "chunked" }, bodyOf(65_537)),
    "413 payload_too_large",
  ],
  ["exactly 64 KiB, which is not too large", ({ own }) => runOf(own, {}, bodyOf(65_536)), "200"],
  [
    "100,000 levels of nesting",
    ({ own }) => ["[".repeat(100_000), '{"a":'.repeat(100_000)].map((body) => runOf(own, {}, body)),
    "413 payload_too_large",
  ],
  [
    "as many levels of nesting as fit into 64 KiB",
    ({ own }) =>
      ["[".repeat(32_000) + "]".repeat(32_000), '{"a":'.repeat(10_000) + 1 + "}".repeat(10_000)].map((body) =>
        runOf(own, {}, body),
      ),
    "400 bad_request",
  ],
  [
    "bytes that are not UTF-8",
    ({ own }) =>
      [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf8, 0x88]].map((bytes) =>
        runOf(own, {}, Buffer.concat([Buffer.from('{"a":"'), Buffer.from(bytes), Buffer.from('"}')])),
      ),
    "400 bad_request",
  ],
  ["a byte order mark", ({ own }) => runOf(own, {}, `\uFEFF${work.body}`), "200"],
  [
    "fields that are repeated, also in another notation",
    ({ own }) =>
      [work.body, respelled.trim()].map((again) => runOf(own, {}, `${work.body.slice(0, -1)},${again.slice(1)}`)),
    "400 bad_request",
  ],
  [
    "__proto__ and constructor as fields",
    ({ own }) =>
      ['"__proto__":{"polluted":1}', '"constructor":{"prototype":{"polluted":1}}']
        .map(bodyWith)
        .concat(`{"__proto__":${work.body}}`)
        .map((body) => runOf(own, {}, body)),
    "400 bad_request",
  ],
  [
    "fields that only the server sets",
    ({ own, id }) =>
      ["userId", "ownerId", "cost", "maxCost", "balance", "runId", "reserved", "settled"].map((name) =>
        runOf(own, {}, bodyWith(`"${name}":${name === "userId" ? `"${id}"` : 0}`)),
      ),
    "400 bad_request",
  ],
  ["a million bytes", ({ own }) => runOf(own, {}, bodyOf(1_000_000)), "413 payload_too_large"],
  [
    "another content type or content encoding",
    ({ own }) =>
      [
        { "content-type": "text/plain" },
        { "content-type": "multipart/form-data; boundary=x" },
        { "content-type": "application/json; charset=utf-16" },
        { "content-encoding": "gzip" },
      ].map((headers) => runOf(own, headers)),
    "400 bad_request",
  ],
  ["no content type", ({ own }) => withKey(runs, own, { method: "POST", body: work.body }), "200"],
  [
    "an invalid Idempotency-Key",
    ({ own }) =>
      ["", " ", '""', "k".repeat(256), "a b", "a, b", "ü", '"a', 'a"b'].map((key) =>
        runOf(own, { "idempotency-key": key }),
      ),
    "400 bad_request",
  ],
]

function reportOf(body: string | Buffer, headers: Record<string, string> = {}): Sent {
  return { method: "POST", path: "/api/leaks", headers: { "content-type": "application/json", ...headers }, body }
}

/** Reports of leaked keys, each with a key that works: only a 202 revokes it. */
const reports: readonly Row[] = [
  [
    "a list of keys, with texts that are not keys",
    ({ own }) =>
      reportOf(
        JSON.stringify({ keys: [own, "", "\0", "\ud800", "' OR 1=1 --", "%", "__proto__", "a".repeat(50_000)] }),
      ),
    "202",
  ],
  ["a byte order mark", ({ own }) => reportOf(`\uFEFF{"keys":["${own}"]}`), "202"],
  ["no content type", ({ own }) => ({ method: "POST", path: "/api/leaks", body: `{"keys":["${own}"]}` }), "202"],
  [
    "a body that is not an object with a list of texts",
    ({ own }) =>
      ["", "null", `["${own}"]`, `"${own}"`, `{"keys":"${own}"}`, `{"keys":{"0":"${own}"}}`, `{"keys":[["${own}"]]}`]
        .concat([`{"keys":["${own}",1]}`, `{"keys":["${own}",null]}`, `{"keys":["${own}"]}x`, `{"Keys":["${own}"]}`])
        .map((body) => reportOf(body)),
    "400 bad_request",
  ],
  [
    "other fields, repeated fields and fields of prototypes",
    ({ own }) =>
      ['"userId":"a"', '"keys":[]', '"__proto__":{}', '"constructor":{}'].map((more) =>
        reportOf(`{"keys":["${own}"],${more}}`),
      ),
    "400 bad_request",
  ],
  ["101 keys", ({ own }) => reportOf(JSON.stringify({ keys: Array(101).fill(own) })), "400 bad_request"],
  ["deep nesting", ({ own }) => reportOf(`{"keys":["${own}",${"[".repeat(30_000)}`), "400 bad_request"],
  [
    "bytes that are not UTF-8",
    ({ own }) => reportOf(Buffer.concat([Buffer.from(`{"keys":["${own}`), Buffer.from([0xff]), Buffer.from('"]}')])),
    "400 bad_request",
  ],
  [
    "another content type or content encoding, which a form of another site may have",
    ({ own }) =>
      [
        { "content-type": "text/plain" },
        { "content-type": "application/x-www-form-urlencoded" },
        { "content-encoding": "gzip" },
      ].map((headers) => reportOf(`{"keys":["${own}"]}`, headers)),
    "400 bad_request",
  ],
  [
    "one byte more than 64 KiB, with Content-Length and in chunks",
    ({ own }) => {
      const body = `{"keys":["${own}"]}`.padEnd(65_537)
      return [reportOf(body), reportOf(body, { "transfer-encoding": "chunked" })]
    },
    "413 payload_too_large",
  ],
  [
    "a key in the query",
    ({ own }) => ({ ...reportOf(`{"keys":["${own}"]}`), path: `/api/leaks?key=${own}` }),
    "400 bad_request",
  ],
  [
    "another method",
    () => ["GET", "PUT", "PATCH", "DELETE"].map((method) => ({ ...reportOf(""), method })),
    "405 method_not_allowed",
  ],
  [
    "a message to GitHub's endpoint without its signature",
    ({ own }) =>
      [{}, { "github-public-key-identifier": "a" }, { "github-public-key-signature": "b" }].map((headers) => ({
        ...reportOf(`[{"token":"${own}","type":"a"}]`, headers),
        path: "/api/leaks/github",
      })),
    "403 invalid_signature",
  ],
]

describe.each(listeners)("%s", (listener) => {
  beforeAll(async () => {
    to = listener === "lean" ? server : await startAnother(listener)
    return () => (to === server ? undefined : to.stop())
  })

  const response = (sent: Sent) => send(sent).then(summaryOf)

  async function expectEach(sent: Sent | readonly Sent[], expected: string): Promise<void> {
    for (const one of [sent].flat()) {
      const target = `${one.method ?? "GET"} ${one.path.slice(0, 120)} ${JSON.stringify(one.headers)?.slice(0, 120)} ${String(one.body ?? "").slice(0, 60)}`
      const got = await response(one)
      expect(got, target).toBe(listener === "next" && expected.startsWith("431") ? "431 without a body" : expected)
    }
  }

  test.each([...credentials, ...routing, ...queries])("%s", async (_name, sent, expected) => {
    await expectEach(sent(await customer()), expected)
  })

  test.each(bodies)("%s, and only a 200 leaves a record", async (_name, sent, expected) => {
    const caller = await customer()
    await expectEach(sent(caller), expected)
    expect(await record(caller.id)).toEqual(expected === "200" ? ["settled"] : [])
  })

  test.each(reports)("a leak report: %s", async (_name, sent, expected) => {
    const caller = await customer()
    await expectEach(sent(caller), expected)
    if (expected === "202") await expect.poll(() => response(withKey(me, caller.own))).toBe("401 unauthorized")
    else await expectEach(withKey(me, caller.own), "200")
  })

  test("a revoked key is refused on the next request", async () => {
    const { own, ownKey } = await customer()
    await expectEach(withKey(me, own), "200")
    await db().apiKey.update({ where: { id: ownKey.id }, data: { revokedAt: new Date() } })
    await expectEach(withKey(me, own), "401 unauthorized")
  })

  test("a key that expires now, or expired a millisecond ago, is refused", async () => {
    const { own, ownKey } = await customer()
    for (const ago of ["0 seconds", "1 millisecond"]) {
      await pool().query("UPDATE api_keys SET expires_at = now() - $2::interval WHERE id = $1", [ownKey.id, ago])
      await expectEach(withKey(me, own), "401 unauthorized")
    }
  })

  test.each(["banned", "closed"] as const)(
    "the key of an owner who is %s between two requests is refused",
    async (status) => {
      const { id, own } = await customer()
      await expectEach(withKey(me, own), "200")
      await db().user.update({ where: { id }, data: { status } })
      await expectEach(withKey(me, own), "403 forbidden")
    },
  )

  test("a key whose owner loses a permission is refused, and the response names the permission", async () => {
    const { id, admin } = await customer()
    await expectEach(withKey(users, admin), "200")
    await db().user.update({ where: { id }, data: { role: "bookkeeper" } })
    const refused = await send(withKey(users, admin))
    expect([refused.status, JSON.parse(refused.body)]).toEqual([
      403,
      { error: { code: "forbidden", message: "The key owner lacks the permission users.read." } },
    ])
    await expectEach(withKey("/api/v1/admin/orders", admin), "200")
  })

  test("a key of a banned owner on the wrong surface returns wrong_scope", async () => {
    const { id, own } = await customer()
    await db().user.update({ where: { id }, data: { status: "banned" } })
    await expectEach(withKey(users, own), "403 wrong_scope")
  })

  test("a session is not accepted in place of a key", async () => {
    const { user } = await customer()
    const cookie = await sessionOf(user)
    expect((await send({ path: "/api-keys", headers: { cookie } })).body).toContain(user.email)
    await expectEach(
      [
        { path: me, headers: { cookie } },
        { path: users, headers: { cookie } },
      ],
      "401 unauthorized",
    )
  })

  test("a key is not accepted in place of a session: pages redirect to sign-in", async () => {
    const { own, admin } = await customer()
    for (const headers of [{ "x-api-key": own }, { authorization: `Bearer ${admin}` }]) {
      for (const path of ["/api-keys", "/account", "/admin/users", "/admin/api-keys"]) {
        const { status, headers: received } = await send({ path, headers })
        expect([status, received.get("location")], path).toEqual([307, expect.stringMatching(/^\/sign-in/)])
      }
    }
  })

  test("a key in a query does not reach the log", async () => {
    const { own } = await customer()
    await response({ path: `${orders}?api_key=${own}` })
    await response(withKey(`${orders}?${own}=1&limit=${own}`, own))
    expect(to.output()).not.toContain(own.slice(startOf(own).length))
  })

  test("a 405 of an admin endpoint names the allowed methods", async () => {
    for (const path of adminPaths) {
      const { status, headers } = await send({ path, method: "DELETE" })
      expect([status, headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"])
    }
  })

  test("a 405 of a metered endpoint names the allowed methods", async () => {
    for (const method of ["GET", "HEAD", "PUT", "PATCH", "DELETE"]) {
      const { status, headers } = await send({ path: runs, method })
      expect([status, headers.get("allow")]).toEqual([405, "POST, OPTIONS"])
    }
  })

  test("HEAD returns the status of GET and no body", async () => {
    const { own, admin } = await customer()
    const requests = [...mePaths.map((path) => withKey(path, own)), ...adminPaths.map((path) => withKey(path, admin))]
    for (const sent of [...requests, { path: me }, withKey(`${me}?a=1`, own), { path: "/api/nothing" }]) {
      const [get, head] = [await send(sent), await send({ ...sent, method: "HEAD" })]
      expect([head.status, head.body], sent.path).toEqual([get.status, ""])
    }
  })

  test("OPTIONS names the allowed methods and allows no other origin", async () => {
    for (const { path, method } of all) {
      const headers = { origin: "https://evil.example", "access-control-request-method": "GET" }
      const { status, headers: received, body } = await send({ path, method: "OPTIONS", headers })
      expect([status, received.get("allow"), body]).toEqual([
        204,
        method === "GET" ? "GET, HEAD, OPTIONS" : "POST, OPTIONS",
        "",
      ])
      expect([...received.keys()].filter((name) => name.startsWith("access-control"))).toEqual([])
    }
  })

  test("forged host headers do not change documents", async () => {
    const forged = {
      host: "evil.example",
      "x-forwarded-host": "evil.example",
      "x-forwarded-proto": "ftp",
      forwarded: "host=evil.example",
    }
    for (const path of [
      "/api/v1/admin/skill.md",
      "/api/v1/me/skill.md",
      "/api/v1/openapi.json",
      "/api/v1/secret-pattern.json",
      "/llms.txt",
      "/.well-known/agent-skills/index.json",
      "/.well-known/security.txt",
    ]) {
      const [plain, misled] = [await send({ path }), await send({ path, headers: forged })]
      expect([misled.status, misled.body], path).toEqual([200, plain.body])
      expect(plain.body).not.toContain("evil")
    }
  })

  test("an offset beyond the last row returns no rows and the correct total", async () => {
    const caller = await customer()
    for (let made = 0; made < 3; made++) await createOrder({ userId: caller.id })
    const { body } = await send(withKey(`${orders}?offset=10000`, caller.own))
    expect(JSON.parse(body)).toEqual({ data: [], meta: { total: 3, limit: 100, offset: 10_000, nextCursor: null } })
  })

  test("an unencoded plus sign in a time is explained in the error", async () => {
    const { own } = await customer()
    const { status, body } = await send(withKey(`${orders}?since=2024-01-01T00:00:00+02:00`, own))
    expect([status, body]).toEqual([400, expect.stringContaining("a + in a query must be sent as %2B")])
  })

  describe.each(all.filter(({ parameters }) => Object.keys(parameters).length > 0))("$path", (endpoint) => {
    const requestsWith = (caller: Customer, values: readonly string[]) =>
      Object.keys(endpoint.parameters).flatMap((name, place) =>
        inTurn(values, place).map((value) =>
          withKey(`${endpoint.path}?${name}=${value}`, endpoint.surface === "admin" ? caller.admin : caller.own),
        ),
      )

    test("NUL, lone surrogates and invalid UTF-8 are refused in every parameter", async () => {
      await expectEach(
        requestsWith(await customer(), ["%00", "a%00", "%ff", "%ED%A0%80", "%ED%B0%80", "%z", "%C0%AF"]),
        "400 bad_request",
      )
    })

    test("names of Object.prototype properties are refused or match nothing in every parameter", async () => {
      for (const sent of requestsWith(await customer(), ["__proto__", "constructor", "toString", "hasOwnProperty"])) {
        const { status, body } = await send(sent)
        if (status === 200) expect(JSON.parse(body), sent.path).toMatchObject({ data: [], meta: { total: 0 } })
        else expect(status, sent.path).toBe(400)
      }
    })
  })

  test("two requests without an Idempotency-Key are charged twice", async () => {
    const { id, own } = await customer()
    await expectEach([runOf(own), runOf(own)], "200")
    expect(await record(id)).toEqual(["settled", "settled"])
  })

  test("sequential requests with one Idempotency-Key get one response and one charge", async () => {
    const { id, own } = await customer()
    const sent = runOf(own, { "idempotency-key": randomUUID() })
    const [first, again] = [await send(sent), await send(sent)]
    expect([again.status, again.body, again.headers.get("idempotency-replayed")]).toEqual([200, first.body, "true"])
    expect(await record(id)).toEqual(["settled"])
  })

  test("of 60 concurrent requests with one Idempotency-Key, exactly one runs and is charged", async () => {
    const { id, own } = await customer()
    const sent = runOf(own, { "idempotency-key": randomUUID() })
    const responses = await Promise.all(Array.from({ length: 60 }, () => send(sent)))
    const fresh = responses.filter(({ status, headers }) => status === 200 && !headers.has("idempotency-replayed"))
    expect(fresh).toHaveLength(1)
    for (const other of responses) {
      if (other.status === 200) expect(other.body).toBe(fresh[0]?.body)
      else
        expect([summaryOf(other), other.headers.get("retry-after")]).toEqual([
          "409 idempotency_in_progress",
          expect.stringMatching(/^[12]$/),
        ])
    }
    expect(await record(id)).toEqual(["settled"])
  })

  test("an Idempotency-Key with a different body is refused and not charged", async () => {
    const { id, own } = await customer()
    const key = { "idempotency-key": randomUUID() }
    await expectEach(runOf(own, key), "200")
    const others = otherBodies.map((body) => runOf(own, key, body))
    await expectEach(others, "422 idempotency_mismatch")
    expect(await record(id)).toEqual(["settled"])
  })

  test("the same JSON with different formatting is a retry", async () => {
    const { id, own } = await customer()
    const key = { "idempotency-key": randomUUID() }
    await expectEach(
      [work.body, respelled, `\uFEFF${respelled}`].map((body) => runOf(own, key, body)),
      "200",
    )
    expect(await record(id)).toEqual(["settled"])
  })

  test("two owners can use the same Idempotency-Key independently", async () => {
    const [one, other] = [await customer(), await customer()]
    const key = { "idempotency-key": randomUUID() }
    const [first, theirs] = [await send(runOf(one.own, key)), await send(runOf(other.own, key))]
    expect([theirs.status, theirs.headers.has("idempotency-replayed")]).toEqual([200, false])
    expect(JSON.parse(theirs.body).data.id).not.toBe(JSON.parse(first.body).data.id)
    expect(await record(other.id)).toEqual(["settled"])
  })

  test("the same Idempotency-Key with another API key of the same owner is a retry", async () => {
    const { id, user, own } = await customer()
    const second = await createKey({ user, surface: "user" })
    const key = { "idempotency-key": randomUUID() }
    const [first, again] = [await send(runOf(own, key)), await send(runOf(second.secret, key))]
    expect([again.status, again.body]).toEqual([200, first.body])
    expect(await record(id)).toEqual(["settled"])
  })

  test.each([
    ["a balance one credit below the maximum cost", work.maxCost - 1, "402 insufficient_credits"],
    ["a balance of the maximum cost", work.maxCost, "200"],
    ["an account without credits", 0, "402 insufficient_credits"],
  ])("%s", async (_name, balance, expected) => {
    const { id, own } = await customer({ balance })
    await expectEach(runOf(own), expected)
    expect(await record(id)).toEqual(expected === "200" ? ["settled"] : [])
  })

  test("a request refused for its balance runs with the same Idempotency-Key after a top-up", async () => {
    const { id, own } = await customer({ balance: work.maxCost - 1 })
    const sent = runOf(own, { "idempotency-key": randomUUID() })
    await expectEach(sent, "402 insufficient_credits")
    await grantCredits(id, 1)
    await expectEach([sent, sent], "200")
    expect(await record(id)).toEqual(["settled"])
  })

  test("of 100 concurrent runs on a balance for nine at once, nine or more run, and no more than it pays for", async () => {
    const { id, own } = await customer({ balance: 9 * work.maxCost })
    const responses = await Promise.all(Array.from({ length: 100 }, () => response(runOf(own))))
    const refused = responses.filter((summary) => summary !== "200")
    // Credits that other runs release may be reserved by others first.
    expect(refused.filter((summary) => !/^(402 insufficient_credits|503 service_unavailable)$/.test(summary))).toEqual(
      [],
    )
    expect(await record(id)).toEqual(Array.from({ length: 100 - refused.length }, () => "settled"))
    expect(100 - refused.length).toBeGreaterThanOrEqual(9)
  })

  test("a client that disconnects during a run gets the stored response on retry and is charged once", async () => {
    const { id, own } = await customer()
    const key = { "idempotency-key": randomUUID() }
    const sent = runOf(own, key)
    await whileSettling(async () => {
      const leaving = connect(to.port, "127.0.0.1")
      const headers = Object.entries({ ...sent.headers, host: "a", "content-length": work.body.length })
      leaving.write(
        `POST ${runs} HTTP/1.1\r\n${headers.map((line) => line.join(": ")).join("\r\n")}\r\n\r\n${work.body}`,
      )
      await settling()
      leaving.resetAndDestroy()
    })
    await expect.poll(() => response(sent)).toBe("200")
    expect((await send(sent)).headers.get("idempotency-replayed")).toBe("true")
    expect(await record(id)).toEqual(["settled"])
  })

  test("a run settles although its owner is banned while it runs, and the next run is refused", async () => {
    const { id, own } = await customer()
    const running = await whileSettling(async () => {
      const pending = response(runOf(own))
      await settling()
      await db().user.update({ where: { id }, data: { status: "banned" } })
      return { pending }
    })
    expect(await running.pending).toBe("200")
    await expectEach(runOf(own), "403 forbidden")
    expect(await record(id)).toEqual(["settled"])
  })

  test("when a server is killed during a run, a retry runs once after the reservation has expired", async () => {
    const { id, own } = await customer({ balance: work.maxCost })
    const sent = runOf(own, { "idempotency-key": randomUUID() })
    const killed = await startTestServer(listener)
    await whileSettling(async () => {
      const pending = ask(killed.address, sent).catch(() => "no response")
      await settling()
      process.kill(-killed.pid, "SIGKILL")
      expect(await pending).toBe("no response")
      await pool().query(`SELECT pg_terminate_backend(pid) FROM (${waiting}) AS orphans`)
    })
    await expectEach(sent, "409 idempotency_in_progress")
    expect(await record(id)).toEqual(["reserved"])
    await pool().query("UPDATE runs SET expires_at = now() WHERE user_id = $1", [id])
    await expectEach([sent, sent], "200")
    expect(await record(id)).toEqual(["expired", "settled"])
  })

  test("an Idempotency-Key starts a new run after 24 hours", async () => {
    const { id, own } = await customer()
    const sent = runOf(own, { "idempotency-key": randomUUID() })
    await expectEach(sent, "200")
    await pool().query("UPDATE runs SET ended_at = now() - interval '24 hours 1 second' WHERE user_id = $1", [id])
    const again = await send(sent)
    expect([again.status, again.headers.has("idempotency-replayed")]).toEqual([200, false])
    expect(await record(id)).toEqual(["settled", "settled"])
  })
})
