import { randomUUID } from "node:crypto"
import { readFile } from "node:fs/promises"
import { connect } from "node:net"
import { join } from "node:path"
import { encode } from "next-auth/jwt"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { endpoints } from "@/app/api/v1/endpoints"
import { hashSecret, newSecret } from "@/lib/keys/secret"
import { pool } from "@/lib/postgres/pool"
import { db } from "@/lib/postgres/prisma"
import { cookieName } from "@/lib/sign-in/cookies"
import { sessionToken } from "@/lib/sign-in/next-auth"
import type { Listener } from "@/scripts/build-and-serve"
import { root } from "@/scripts/root"
import { createKey, createOrder, createUser, grantCredits } from "@/tests/support/factories"
import { findViolations } from "@/tests/support/ledger-invariants"
import { ask, type Sent, summaryOf } from "@/tests/support/raw-http"
import { startTestServer, type TestServer } from "@/tests/support/server"

// What clients send who mean harm, or do not know better, by its number in the catalogue that these tests follow. The last
// test looks that none is missing: what needs a bare connection is in raw.ts, what needs work that fails beside the ledger.

const all = await endpoints()
const adminPaths = all.flatMap(({ path, surface }) => (surface === "admin" ? [path] : []))
const mePaths = all.flatMap(({ path, surface, method }) => (surface === "user" && method === "GET" ? [path] : []))
const me = "/api/v1/me"
const orders = "/api/v1/me/orders"
const users = "/api/v1/admin/users"
const runs = "/api/v1/me/run"

let servers: Record<Listener, TestServer>

beforeAll(async () => {
  servers = { lean: await startTestServer("lean"), next: await startTestServer("next") }
  return () => Promise.all(Object.values(servers).map(({ stop }) => stop()))
})

afterAll(async () => {
  expect(await findViolations(pool())).toEqual([])
})

/** An account that may do everything, with a key of either surface and credits. */
async function customer({ balance = 1_000, role = "owner" } = {}) {
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

/** Each call comes from an address of its own, so that no limit of an address hides an answer. */
function send(listener: Listener, { headers, ...sent }: Sent) {
  callers++
  const address = `10.1.${callers >> 8}.${callers & 255}`
  return ask(servers[listener].address, { ...sent, headers: { "x-forwarded-for": address, ...headers } })
}

function runOf(key: string, body: string | Buffer, headers: Record<string, string> = {}): Sent {
  return withKey(runs, key, { method: "POST", headers: { "content-type": "application/json", ...headers }, body })
}

function textOf(credits: number): string {
  return JSON.stringify({ text: "word ".repeat(credits * 100).trim() })
}

/** What became of an account: its runs and its ledger, without what it was granted. */
async function record(userId: string) {
  const [made, entries] = [
    await db().run.findMany({ where: { userId }, orderBy: { createdAt: "asc" } }),
    await db().creditEntry.findMany({ where: { userId, kind: { not: "grant" } }, orderBy: { seq: "asc" } }),
  ]
  return {
    runs: made.map(({ state, cost }) => (cost === null ? state : `${state} ${cost}`)),
    entries: entries.map(({ kind, amount }) => `${kind} ${amount}`),
  }
}

const nothing = { runs: [], entries: [] }

const gate = 4711

/** The connections of servers whose settlement waits at the gate. */
const waiting = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = ${gate} AND NOT granted`

/** Runs `work` while every settlement waits at a gate in the database; what `work` began goes on afterwards. */
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

/** Returns once a settlement waits. */
async function settling(): Promise<void> {
  await expect.poll(async () => (await pool().query(waiting)).rowCount, { interval: 10 }).toBe(1)
}

beforeAll(async () => {
  await pool().query(`
    CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN PERFORM pg_advisory_xact_lock_shared(${gate}); RETURN NEW; END';
    CREATE TRIGGER gate BEFORE UPDATE ON runs FOR EACH ROW WHEN (NEW.state = 'settled' AND OLD.state = 'reserved')
      EXECUTE FUNCTION wait_at_gate()`)
})

/** What is asked with the keys of an account, and how that is answered. */
type Line = readonly [row: string, sent: (caller: Customer) => Sent | readonly Sent[], response: string]

const credentials: readonly Line[] = [
  ["1 no header", () => ({ path: me }), "401 unauthorized"],
  ["2 a scheme without a key", () => ({ path: me, headers: { authorization: "Bearer" } }), "401 unauthorized"],
  [
    "3 a key without its scheme, or with another",
    ({ own }) =>
      [own, `Basic ${own}`, `Bearer: ${own}`, `Token ${own}`].map((authorization) => ({
        path: me,
        headers: { authorization },
      })),
    "401 unauthorized",
  ],
  ["4 the scheme in small letters", ({ own }) => ({ path: me, headers: { authorization: `bearer ${own}` } }), "200"],
  [
    "5 a key's beginning with a rest of chance, and one with a wrong checksum",
    ({ own }) =>
      [newSecret("user"), own.slice(0, -1) + (own.endsWith("0") ? "1" : "0"), own.slice(0, -1)].map((key) =>
        withKey(me, key),
      ),
    "401 unauthorized",
  ],
  ["6 garbage that begins as a key of the other surface", () => withKey(me, "tsk_adm_garbage"), "401 unauthorized"],
  ["7 blanks around a key", ({ own }) => withKey(me, `  ${own} `), "200"],
  [
    "7 quotes, escapes and brackets around a key",
    ({ own }) =>
      [`"${own}"`, `'${own}'`, `${own}%20`, `${own}\\n`, `<${own}>`, `Bearer ${own}`].map((key) => withKey(me, key)),
    "401 unauthorized",
  ],
  ["11 two percent signs for a key", () => ({ path: me, headers: { authorization: "Bearer %%" } }), "401 unauthorized"],
  ["14 one key in both headers", ({ own }) => withKey(me, own, { headers: { authorization: `Bearer ${own}` } }), "200"],
  [
    "14 another key in either header",
    ({ own, admin }) => withKey(me, own, { headers: { authorization: `Bearer ${admin}` } }),
    "400 bad_request",
  ],
  [
    "15 a user key on the admin API, of an owner who may read everything",
    ({ own }) => adminPaths.map((path) => withKey(path, own)),
    "403 wrong_scope",
  ],
  ["15 an admin key on the user API", ({ admin }) => mePaths.map((path) => withKey(path, admin)), "403 wrong_scope"],
  [
    "23 a key in the query",
    ({ own }) => ["api_key", "x-api-key", "key", "access_token"].map((name) => ({ path: `${me}?${name}=${own}` })),
    "401 unauthorized",
  ],
  [
    "24 the hash of a key",
    ({ own }) =>
      (["hex", "base64", "base64url"] as const).map((form) => withKey(me, Buffer.from(hashSecret(own)).toString(form))),
    "401 unauthorized",
  ],
  [
    "25 what would be more than a value in SQL or in a query of objects",
    () =>
      ["' OR 1=1 --", '{"not":""}', "*", "%", "tsk_usr_%", "null", "undefined", "true"].map((key) => withKey(me, key)),
    "401 unauthorized",
  ],
]

const otherMethods = ["POST", "PUT", "PATCH", "DELETE"]

const routing: readonly Line[] = [
  [
    "26 a path that nothing serves",
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
    "27 a method of writing on the admin API",
    ({ admin }) => adminPaths.flatMap((path) => otherMethods.map((method) => withKey(path, admin, { method }))),
    "405 method_not_allowed",
  ],
  ["28 GET on what is metered", ({ own }) => withKey(runs, own), "405 method_not_allowed"],
]

const anyList = (caller: Customer, ...searches: string[]) => [
  ...searches.map((search) => withKey(`${orders}?${search}`, caller.own)),
  ...searches.map((search) => withKey(`${users}?${search}`, caller.admin)),
]

const queries: readonly Line[] = [
  [
    "38 a limit outside 1 to 500, or not in plain digits",
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
  ["39 the least and the greatest limit", (caller) => anyList(caller, "limit=1", "limit=500"), "200"],
  ["39 a limit with a zero before it", (caller) => anyList(caller, "limit=05"), "400 bad_request"],
  [
    "40 an offset below nothing, or no whole number",
    (caller) => anyList(caller, "offset=-1", "offset=-0", "offset=1.5", "offset=abc", "offset="),
    "400 bad_request",
  ],
  ["41 the greatest offset", (caller) => anyList(caller, "offset=2147483647"), "200"],
  [
    "42 an offset beyond 31, 32 and 53 bits, which some would take for a small one",
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
    "43 a parameter twice, or as a list or an object",
    (caller) =>
      anyList(caller, "limit=1&limit=2", "limit=1&limit=1", "limit[]=1", "limit[a]=1", "limit.a=1", "limit%5B%5D=1"),
    "400 bad_request",
  ],
  [
    "44 a parameter that is unknown",
    (caller) => anyList(caller, "colour=red", "LIMIT=1", "limit%20=1", "constructor=1", "=1"),
    "400 bad_request",
  ],
  [
    "44 another account's id on the user API",
    ({ own, id }) =>
      mePaths.flatMap((path) =>
        ["userId", "user_id", "owner", "id"].map((name) => withKey(`${path}?${name}=${id}`, own)),
      ),
    "400 bad_request",
  ],
  [
    "45 a time that no calendar and no clock has",
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
    "46 a date, a time with an offset, and epoch milliseconds",
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
    "47 the epoch, the moment before it, and the first of year 1",
    (caller) => anyList(caller, "since=0", "since=-1", "since=-62135596800000", "since=0001-01-01"),
    "200",
  ],
  [
    "48 a year before 1 or after 9999",
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
    "49 bounds that are one moment",
    (caller) =>
      anyList(
        caller,
        "since=2026-01-01T00:00:00Z&until=2026-01-01T00:00:00Z",
        "since=5&until=5",
        "since=2026-01-01&until=2026-01-01",
      ),
    "200",
  ],
  [
    "49 bounds that are crossed",
    (caller) => anyList(caller, "since=2026-02-01&until=2026-01-31", "since=6&until=5"),
    "400 bad_request",
  ],
  [
    "52 a value of 4,000 characters",
    ({ admin }) => withKey(`${users}?email=${"a".repeat(4_000)}`, admin),
    "400 bad_request",
  ],
  [
    "54 SQL for a value, and what stands for anything in a pattern",
    ({ admin }) =>
      ["active' OR '1'='1", "%", "_", "act%", "*"].map((value) =>
        withKey(`${users}?status=${encodeURIComponent(value)}`, admin),
      ),
    "400 bad_request",
  ],
  [
    "55 more parameters than anybody has",
    (caller) => anyList(caller, "a=1&".repeat(51), "a&".repeat(3_000), `${"&".repeat(3_000)}b`),
    "400 bad_request",
  ],
  ["55 10,000 parameters", (caller) => anyList(caller, "a&".repeat(10_000)), "431 headers_too_large"],
]

/** Percent-encodes what a client would have to, and leaves what is encoded already. */
function encodeAll(value: string): string {
  return value.includes("%") ? value : encodeURIComponent(value)
}

/** A body of JSON around a text, so that it has this many bytes. */
function bodyOf(bytes: number): string {
  return `{"text":"${"a".repeat(bytes - 11)}"}`
}

const bodies: readonly Line[] = [
  [
    "56 no object of JSON",
    ({ own }) =>
      ["", "null", "[]", '"x"', "1", "NaN", "{", "{}", '{"text":"a"}x', '{"text":"a"}{"text":"a"}', "{text:'a'}"].map(
        (body) => runOf(own, body),
      ),
    "400 bad_request",
  ],
  [
    "57 one byte more than 64 KiB, of an announced length",
    ({ own }) => runOf(own, bodyOf(65_537)),
    "413 payload_too_large",
  ],
  [
    "57 one byte more than 64 KiB, in chunks",
    ({ own }) => runOf(own, bodyOf(65_537), { "transfer-encoding": "chunked" }),
    "413 payload_too_large",
  ],
  ["57 64 KiB, which are read", ({ own }) => runOf(own, bodyOf(65_536)), "400 bad_request"],
  [
    "59 100,000 levels",
    ({ own }) => ["[".repeat(100_000), '{"text":'.repeat(100_000)].map((body) => runOf(own, body)),
    "413 payload_too_large",
  ],
  [
    "59 as many levels as there is room for",
    ({ own }) =>
      ["[".repeat(32_000) + "]".repeat(32_000), '{"a":'.repeat(10_000) + 1 + "}".repeat(10_000)].map((body) =>
        runOf(own, body),
      ),
    "400 bad_request",
  ],
  [
    "60 bytes that are no UTF-8",
    ({ own }) =>
      [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf8, 0x88]].map((bytes) =>
        runOf(own, Buffer.concat([Buffer.from('{"text":"'), Buffer.from(bytes), Buffer.from('"}')])),
      ),
    "400 bad_request",
  ],
  ["61 a byte order mark", ({ own }) => runOf(own, '\uFEFF{"text":"a"}'), "200"],
  [
    "62 a field twice",
    ({ own }) => ['{"text":"a","text":"b"}', '{"text":"a","te\\u0078t":"b"}'].map((body) => runOf(own, body)),
    "400 bad_request",
  ],
  [
    "63 __proto__ and constructor as fields",
    ({ own }) =>
      [
        '{"text":"a","__proto__":{"polluted":1}}',
        '{"text":"a","constructor":{"prototype":{"polluted":1}}}',
        '{"__proto__":{"text":"a"}}',
      ].map((body) => runOf(own, body)),
    "400 bad_request",
  ],
  [
    "64 fields that only the server sets",
    ({ own, id }) =>
      ["userId", "ownerId", "cost", "maxCost", "balance", "role", "state", "id"].map((name) =>
        runOf(own, JSON.stringify({ text: "a", [name]: name === "userId" ? id : 0 })),
      ),
    "400 bad_request",
  ],
  [
    "65 numbers and the like for a text",
    ({ own }) =>
      ["1", "-0", "1e400", "12345678901234567890", "true", "null", "[]", "{}", '["a"]'].map((value) =>
        runOf(own, `{"text":${value}}`),
      ),
    "400 bad_request",
  ],
  [
    "66 NUL and half a character in a text",
    ({ own }) =>
      ["\\u0000", "\\ud800", "\\udc00", "\\udc00\\ud800", "a\\u0000b"].map((text) => runOf(own, `{"text":"${text}"}`)),
    "400 bad_request",
  ],
  ["67 a text of a million characters", ({ own }) => runOf(own, bodyOf(1_000_000)), "413 payload_too_large"],
  [
    "67 a text as long as there is room for, which no pattern may be slow with",
    ({ own }) =>
      ["a", " ", "a ", ".", "'", "\\\\"].map((part) =>
        runOf(own, `{"text":"${part.repeat(Math.floor(60_000 / part.length))}"}`),
      ),
    "400 bad_request",
  ],
  [
    "68 another type, or another encoding",
    ({ own }) =>
      [
        { "content-type": "text/plain" },
        { "content-type": "multipart/form-data; boundary=x" },
        { "content-type": "application/json; charset=utf-16" },
        { "content-encoding": "gzip" },
      ].map((headers) => runOf(own, '{"text":"a"}', headers)),
    "400 bad_request",
  ],
  ["68 no type", ({ own }) => withKey(runs, own, { method: "POST", body: '{"text":"a"}' }), "200"],
  [
    "78 an Idempotency-Key that is none",
    ({ own }) =>
      ["", " ", '""', "k".repeat(256), "a b", "a, b", "ü", '"a', 'a"b'].map((key) =>
        runOf(own, '{"text":"a"}', { "idempotency-key": key }),
      ),
    "400 bad_request",
  ],
]

describe.each<Listener>(["lean", "next"])("%s", (listener) => {
  const response = (sent: Sent) => send(listener, sent).then(summaryOf)

  async function expectEach(sent: Sent | readonly Sent[], expected: string): Promise<void> {
    for (const one of [sent].flat()) {
      const target = `${one.method ?? "GET"} ${one.path.slice(0, 120)} ${JSON.stringify(one.headers)?.slice(0, 120)} ${String(one.body ?? "").slice(0, 60)}`
      const got = await response(one)
      expect(got, target).toBe(listener === "next" && expected.startsWith("431") ? "431 without a body" : expected)
    }
  }

  test.each([...credentials, ...routing, ...queries])("%s", async (_row, sent, expected) => {
    await expectEach(sent(await customer()), expected)
  })

  test.each(bodies)("%s, and only what is answered 200 is kept", async (_row, sent, expected) => {
    const caller = await customer()
    await expectEach(sent(caller), expected)
    expect(await record(caller.id)).toEqual(
      expected === "200" ? { runs: ["settled 1"], entries: ["reserve -10", "settle 9"] } : nothing,
    )
  })

  test("16 a key that was revoked is refused by the next request", async () => {
    const { own, ownKey } = await customer()
    await expectEach(withKey(me, own), "200")
    await db().apiKey.update({ where: { id: ownKey.id }, data: { revokedAt: new Date() } })
    await expectEach(withKey(me, own), "401 unauthorized")
  })

  test("17 a key that expired a millisecond ago, or this very moment", async () => {
    const { own, ownKey } = await customer()
    for (const ago of ["0 seconds", "1 millisecond"]) {
      await pool().query("UPDATE api_keys SET expires_at = now() - $2::interval WHERE id = $1", [ownKey.id, ago])
      await expectEach(withKey(me, own), "401 unauthorized")
    }
  })

  test.each(["banned", "closed"] as const)("18 an owner who is %s between two requests", async (status) => {
    const { id, own } = await customer()
    await expectEach(withKey(me, own), "200")
    await db().user.update({ where: { id }, data: { status } })
    await expectEach(withKey(me, own), "403 forbidden")
  })

  test("19 an owner whose role is taken away, and the permission that is missed is named", async () => {
    const { id, admin } = await customer()
    await expectEach(withKey(users, admin), "200")
    await db().user.update({ where: { id }, data: { role: "bookkeeper" } })
    const refused = await send(listener, withKey(users, admin))
    expect([refused.status, JSON.parse(refused.body)]).toEqual([
      403,
      { error: { code: "forbidden", message: "The key owner lacks the permission users.read." } },
    ])
    await expectEach(withKey("/api/v1/admin/orders", admin), "200")
  })

  test("20 a banned owner on the wrong surface hears of the surface", async () => {
    const { id, own } = await customer()
    await db().user.update({ where: { id }, data: { status: "banned" } })
    await expectEach(withKey(users, own), "403 wrong_scope")
  })

  test("21 a session without a key is no key", async () => {
    const { user } = await customer()
    const secret = process.env.AUTH_SECRET ?? ""
    const cookie = `${cookieName("session")}=${await encode({ token: sessionToken(user), secret })}`
    expect((await send(listener, { path: "/api-keys", headers: { cookie } })).body).toContain(user.email)
    await expectEach(
      [
        { path: me, headers: { cookie } },
        { path: users, headers: { cookie } },
      ],
      "401 unauthorized",
    )
  })

  test("22 a key is no session: pages ask to sign in", async () => {
    const { own, admin } = await customer()
    for (const headers of [{ "x-api-key": own }, { authorization: `Bearer ${admin}` }]) {
      for (const path of ["/api-keys", "/account", "/admin/users", "/admin/api-keys"]) {
        const { status, headers: given } = await send(listener, { path, headers })
        expect([status, given.get("location")], path).toEqual([307, expect.stringMatching(/^\/sign-in/)])
      }
    }
  })

  test("23 a key in a query does not reach the log", async () => {
    const { own } = await customer()
    await response({ path: `${orders}?api_key=${own}` })
    await response(withKey(`${orders}?${own}=1&limit=${own}`, own))
    expect(servers[listener].output()).not.toContain(own.slice(12))
  })

  test("27 the methods that an admin endpoint has are named with the refusal", async () => {
    for (const path of adminPaths) {
      const { status, headers } = await send(listener, { path, method: "DELETE" })
      expect([status, headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"])
    }
  })

  test("28 the methods that a metered endpoint has are named with the refusal", async () => {
    for (const method of ["GET", "HEAD", "PUT", "PATCH", "DELETE"]) {
      const { status, headers } = await send(listener, { path: runs, method })
      expect([status, headers.get("allow")]).toEqual([405, "POST, OPTIONS"])
    }
  })

  test("29 HEAD has the status of GET and no body", async () => {
    const { own, admin } = await customer()
    const asked = [...mePaths.map((path) => withKey(path, own)), ...adminPaths.map((path) => withKey(path, admin))]
    for (const sent of [...asked, { path: me }, withKey(`${me}?a=1`, own), { path: "/api/nothing" }]) {
      const [get, head] = [await send(listener, sent), await send(listener, { ...sent, method: "HEAD" })]
      expect([head.status, head.body], sent.path).toEqual([get.status, ""])
    }
  })

  test("30 OPTIONS names the methods, and lets no other origin in", async () => {
    for (const { path, method } of all) {
      const headers = { origin: "https://evil.example", "access-control-request-method": "GET" }
      const { status, headers: given, body } = await send(listener, { path, method: "OPTIONS", headers })
      expect([status, given.get("allow"), body]).toEqual([
        204,
        method === "GET" ? "GET, HEAD, OPTIONS" : "POST, OPTIONS",
        "",
      ])
      expect([...given.keys()].filter((name) => name.startsWith("access-control"))).toEqual([])
    }
  })

  test("36 forged hosts change no document", async () => {
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
      "/llms.txt",
      "/.well-known/agent-skills/index.json",
    ]) {
      const [plain, misled] = [await send(listener, { path }), await send(listener, { path, headers: forged })]
      expect([misled.status, misled.body], path).toEqual([200, plain.body])
      expect(plain.body).not.toContain("evil")
    }
  })

  test("41 beyond the last row: none, and the true total", async () => {
    const caller = await customer()
    for (let made = 0; made < 3; made++) await createOrder({ userId: caller.id })
    const { body } = await send(listener, withKey(`${orders}?offset=2147483647`, caller.own))
    expect(JSON.parse(body)).toEqual({ data: [], meta: { total: 3, limit: 100, offset: 2147483647, nextCursor: null } })
  })

  test("50 a plus sign that arrives as a space is explained", async () => {
    const { own } = await customer()
    const { status, body } = await send(listener, withKey(`${orders}?since=2024-01-01T00:00:00+02:00`, own))
    expect([status, body]).toEqual([400, expect.stringContaining("a + in a query must be sent as %2B")])
  })

  describe.each(all.filter(({ parameters }) => Object.keys(parameters).length > 0))("$path", (endpoint) => {
    const asked = (caller: Customer, values: readonly string[]) =>
      Object.keys(endpoint.parameters).flatMap((name) =>
        values.map((value) =>
          withKey(`${endpoint.path}?${name}=${value}`, endpoint.surface === "admin" ? caller.admin : caller.own),
        ),
      )

    test("51 NUL, half a character and what is no UTF-8, in every parameter", async () => {
      await expectEach(
        asked(await customer(), ["%00", "a%00", "%ff", "%ED%A0%80", "%ED%B0%80", "%zz", "%C0%AF"]),
        "400 bad_request",
      )
    })

    test("53 names of what every object has, in every parameter: refused, or found nowhere", async () => {
      for (const sent of asked(await customer(), ["__proto__", "constructor", "toString", "hasOwnProperty"])) {
        const { status, body } = await send(listener, sent)
        if (status === 200) expect(JSON.parse(body), sent.path).toMatchObject({ data: [], meta: { total: 0 } })
        else expect(status, sent.path).toBe(400)
      }
    })
  })

  test("71 without an Idempotency-Key, twice is two charges", async () => {
    const { id, own } = await customer()
    await expectEach([runOf(own, textOf(2)), runOf(own, textOf(2))], "200")
    expect((await record(id)).runs).toEqual(["settled 2", "settled 2"])
  })

  test("72 one Idempotency-Key, one after the other: one answer, one charge", async () => {
    const { id, own } = await customer()
    const sent = runOf(own, textOf(2), { "idempotency-key": randomUUID() })
    const [first, again] = [await send(listener, sent), await send(listener, sent)]
    expect([again.status, again.body, again.headers.get("idempotency-replayed")]).toEqual([200, first.body, "true"])
    expect((await record(id)).runs).toEqual(["settled 2"])
  })

  test("73 one Idempotency-Key, 60 at once: one is new, and charged once", async () => {
    const { id, own } = await customer()
    const sent = runOf(own, textOf(3), { "idempotency-key": randomUUID() })
    const responses = await Promise.all(Array.from({ length: 60 }, () => send(listener, sent)))
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
    expect((await record(id)).runs).toEqual(["settled 3"])
  })

  test("74 one Idempotency-Key with another body: refused, and not charged", async () => {
    const { id, own } = await customer()
    const key = { "idempotency-key": randomUUID() }
    await expectEach(runOf(own, textOf(1), key), "200")
    await expectEach([runOf(own, textOf(2), key), runOf(own, '{"text":"word "}', key)], "422 idempotency_mismatch")
    expect((await record(id)).runs).toEqual(["settled 1"])
  })

  test("75 the same JSON in another spelling is a retry", async () => {
    const { id, own } = await customer()
    const key = { "idempotency-key": randomUUID() }
    await expectEach(
      ['{"text":"ab"}', ' {\n"text" : "a\\u0062" }', '\uFEFF{"te\\u0078t":"ab"}'].map((body) => runOf(own, body, key)),
      "200",
    )
    expect((await record(id)).runs).toEqual(["settled 1"])
  })

  test("76 another owner's Idempotency-Key is another", async () => {
    const [one, other] = [await customer(), await customer()]
    const key = { "idempotency-key": randomUUID() }
    const [first, theirs] = [
      await send(listener, runOf(one.own, textOf(2), key)),
      await send(listener, runOf(other.own, textOf(3), key)),
    ]
    expect([theirs.status, theirs.headers.has("idempotency-replayed")]).toEqual([200, false])
    expect(JSON.parse(theirs.body).data.id).not.toBe(JSON.parse(first.body).data.id)
    expect((await record(other.id)).runs).toEqual(["settled 3"])
  })

  test("77 another key of the same owner: a retry", async () => {
    const { id, user, own } = await customer()
    const second = await createKey({ user, surface: "user" })
    const key = { "idempotency-key": randomUUID() }
    const [first, again] = [
      await send(listener, runOf(own, textOf(2), key)),
      await send(listener, runOf(second.secret, textOf(2), key)),
    ]
    expect([again.status, again.body]).toEqual([200, first.body])
    expect((await record(id)).runs).toEqual(["settled 2"])
  })

  test.each([
    ["one less than a call can cost", 9, "402 insufficient_credits"],
    ["what a call can cost", 10, "200"],
    ["an account without credits", 0, "402 insufficient_credits"],
  ])("79 %s", async (_what, balance, expected) => {
    const { id, own } = await customer({ balance })
    await expectEach(runOf(own, textOf(10)), expected)
    expect((await record(id)).runs).toEqual(expected === "200" ? ["settled 10"] : [])
  })

  test("79 a balance of nothing", async () => {
    const { own } = await customer({ balance: 10 })
    await expectEach(runOf(own, textOf(10)), "200")
    await expectEach(runOf(own, textOf(1)), "402 insufficient_credits")
  })

  test("80 refused for its balance, then topped up: the same Idempotency-Key runs", async () => {
    const { id, own } = await customer({ balance: 9 })
    const sent = runOf(own, textOf(2), { "idempotency-key": randomUUID() })
    await expectEach(sent, "402 insufficient_credits")
    await grantCredits(id, 1)
    await expectEach([sent, sent], "200")
    expect((await record(id)).runs).toEqual(["settled 2"])
  })

  test("81 100 at once on a balance for nine: nine are paid for, and none too many", async () => {
    const { id, own } = await customer({ balance: 95 })
    const responses = await Promise.all(Array.from({ length: 100 }, () => response(runOf(own, textOf(10)))))
    expect(responses.filter((word) => word === "200")).toHaveLength(9)
    expect(responses.filter((word) => word === "402 insufficient_credits")).toHaveLength(91)
    expect((await db().creditAccount.findUniqueOrThrow({ where: { userId: id } })).balance).toBe(5n)
  })

  test("83 work that costs nothing: everything is given back", async () => {
    const { id, own } = await customer()
    await expectEach(runOf(own, '{"text":"… — !"}'), "200")
    expect(await record(id)).toEqual({ runs: ["settled 0"], entries: ["reserve -10", "settle 10"] })
  })

  test("85 a client that is gone while its call runs finds the answer when it comes back, and pays once", async () => {
    const { id, own } = await customer()
    const key = { "idempotency-key": randomUUID() }
    const sent = runOf(own, textOf(2), key)
    await whileSettling(async () => {
      const leaving = connect(servers[listener].port, "127.0.0.1")
      const head = Object.entries({ ...sent.headers, host: "a", "content-length": textOf(2).length })
      leaving.write(`POST ${runs} HTTP/1.1\r\n${head.map((line) => line.join(": ")).join("\r\n")}\r\n\r\n${textOf(2)}`)
      await settling()
      leaving.resetAndDestroy()
    })
    await expect.poll(() => response(sent)).toBe("200")
    expect((await send(listener, sent)).headers.get("idempotency-replayed")).toBe("true")
    expect((await record(id)).runs).toEqual(["settled 2"])
  })

  test("89 an owner who is banned while a call runs: it is settled, and the next one refused", async () => {
    const { id, own } = await customer()
    const running = await whileSettling(async () => {
      const begun = response(runOf(own, textOf(2)))
      await settling()
      await db().user.update({ where: { id }, data: { status: "banned" } })
      return { begun }
    })
    expect(await running.begun).toBe("200")
    await expectEach(runOf(own, textOf(2)), "403 forbidden")
    expect((await record(id)).runs).toEqual(["settled 2"])
  })

  test("86 a server that is killed while a call runs: once the reservation is over, the same call runs once", async () => {
    const { id, own } = await customer({ balance: 10 })
    const sent = runOf(own, textOf(10), { "idempotency-key": randomUUID() })
    const victim = await startTestServer(listener)
    await whileSettling(async () => {
      const begun = ask(victim.address, sent).catch(() => "no answer")
      await settling()
      process.kill(-victim.pid, "SIGKILL")
      expect(await begun).toBe("no answer")
      await pool().query(`SELECT pg_terminate_backend(pid) FROM (${waiting}) AS orphans`)
    })
    await expectEach(sent, "409 idempotency_in_progress")
    expect(await record(id)).toEqual({ runs: ["reserved"], entries: ["reserve -10"] })
    await pool().query("UPDATE runs SET expires_at = now() WHERE user_id = $1", [id])
    await expectEach([sent, sent], "200")
    expect(await record(id)).toEqual({
      runs: ["expired 0", "settled 10"],
      entries: ["reserve -10", "release 10", "reserve -10"],
    })
  })

  test("88 an Idempotency-Key after its day: a new call", async () => {
    const { id, own } = await customer()
    const sent = runOf(own, textOf(2), { "idempotency-key": randomUUID() })
    await expectEach(sent, "200")
    await pool().query("UPDATE runs SET ended_at = now() - interval '24 hours 1 second' WHERE user_id = $1", [id])
    const again = await send(listener, sent)
    expect([again.status, again.headers.has("idempotency-replayed")]).toEqual([200, false])
    expect((await record(id)).runs).toEqual(["settled 2", "settled 2"])
  })
})

test("every number of the catalogue up to 90 begins the name of a test", async () => {
  const files = [
    "tests/http/hostile-input.test.ts",
    "tests/http/raw-sockets.test.ts",
    "app/api/v1/me/run/run.test.ts",
    "lib/credits/mutations.test.ts",
  ]
  const sources = await Promise.all(files.map((file) => readFile(join(root, file), "utf8")))
  const named = new Set(sources.flatMap((source) => [...source.matchAll(/"(\d+) \S/g)].map(([, row]) => Number(row))))
  const rows = Array.from({ length: 90 }, (_, index) => index + 1)
  expect(rows.filter((row) => !named.has(row))).toEqual([])
})
