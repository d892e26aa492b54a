import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { beforeAll, describe, expect, test } from "vitest"
import { endpoints, type ServedEndpoint } from "@/app/api/v1/endpoints"
import { newSecret } from "@/lib/keys/secret"
import { pool } from "@/lib/postgres/pool"
import type { Surface } from "@/lib/surfaces"
import { seed } from "@/prisma/seed"
import type { Listener } from "@/scripts/build-and-serve"
import { root } from "@/scripts/root"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { ask, type Sent } from "@/tests/support/raw-http"
import { startTestServer, type TestServer } from "@/tests/support/server"

// What a request gets is the same whoever serves: our own listener as `npm start` does, or Next alone as a serverless host
// does. Both run on one database and at one moment, so their answers are compared byte for byte. Where they differ is in
// docs/listeners.md, which tests/http/raw-sockets.test.ts holds.

const all = await endpoints()
let servers: Record<Listener, TestServer>
let keys: Record<Surface, string>

beforeAll(async () => {
  await seed(pool(), { users: 60, now: new Date() })
  const now = Date.now()
  servers = { lean: await startTestServer("lean", {}, now), next: await startTestServer("next", {}, now) }
  return () => Promise.all(Object.values(servers).map(({ stop }) => stop()))
})

let accounts = 0

/** Keys that nobody has used, of an account whose credits nobody has spent. */
async function freshKeys(): Promise<Record<Surface, string>> {
  const user = await createUser({ role: "owner", email: `both-${accounts++}@example.com` })
  await grantCredits(user.id, 1_000)
  const [admin, own] = [await createKey({ user, surface: "admin" }), await createKey({ user, surface: "user" })]
  return { admin: admin.secret, user: own.secret }
}

async function askOne(listener: Listener, { headers, ...sent }: Sent) {
  const named = { "x-request-id": "the-same-for-both", ...headers }
  const { headers: given, body, ...response } = await ask(servers[listener].address, { ...sent, headers: named })
  // Drawn for each page anew.
  const nonce = /'nonce-([^']+)'/.exec(given.get("content-security-policy") ?? "")?.[1] ?? "nonce"
  const lines = [...given].filter(([name]) => !apart.includes(name)).map((line) => line.join(": "))
  return { ...response, headers: lines.map((line) => line.replaceAll(nonce, "")), body: body.replaceAll(nonce, "") }
}

type Answer = Awaited<ReturnType<typeof askOne>>

// Those of the connection and its framing, the clock, and what Next says because it could also render pages.
const apart = ["connection", "content-length", "date", "keep-alive", "transfer-encoding", "vary"]

async function expectTheSame(sent: Sent): Promise<Answer> {
  const [lean, next] = [await askOne("lean", sent), await askOne("next", sent)]
  expect(lean, `${sent.method ?? "GET"} ${sent.path}`).toEqual(next)
  return lean
}

beforeAll(async () => {
  keys = await freshKeys()
})

const json = { "content-type": "application/json" }

const searches = ["", "?limit=2", "?limit=2&offset=1", "?limit=1&order=asc", "?since=2026-01-01", "?since=9&until=1"]
const wrongSearches = [
  "?limit=0",
  "?limit=1&limit=2",
  "?colour=red",
  "?cursor=x",
  "?since=2026-02-30",
  "?a=%zz",
  "?%00",
  "?",
]

describe.each(all)("$method $path", ({ path, method, surface }: ServedEndpoint) => {
  test("with a key of its surface, whatever the query", async () => {
    keys = await freshKeys()
    for (const search of [...searches, ...wrongSearches]) {
      const { status } = await expectTheSame({ method, path: path + search, headers: { "x-api-key": keys[surface] } })
      expect([200, 400]).toContain(status)
    }
  })

  test("without a key, with a wrong one, with one of the other surface, with two", async () => {
    keys = await freshKeys()
    const other = keys[surface === "admin" ? "user" : "admin"]
    const credentials: Record<string, string>[] = [
      {},
      { authorization: "Bearer" },
      { authorization: `Bearer ${newSecret(surface)}` },
      { authorization: `Basic ${keys[surface]}` },
      { authorization: `BEARER   ${other}` },
      { authorization: `Bearer ${keys[surface]}`, "x-api-key": other },
      { "x-api-key": "ÿþ" },
      { cookie: "next-auth.session-token=x" },
    ]
    const statuses = []
    for (const headers of credentials) statuses.push((await expectTheSame({ method, path, headers })).status)
    expect(statuses).toEqual([401, 401, 401, 401, 403, 400, 401, 401])
  })

  test("by every method", async () => {
    keys = await freshKeys()
    for (const called of ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      await expectTheSame({ method: called, path, headers: { "x-api-key": keys[surface] } })
      await expectTheSame({ method: called, path })
    }
  })

  test("written otherwise than it is", async () => {
    keys = await freshKeys()
    const last = path.slice(path.lastIndexOf("/") + 1)
    const written = [
      `${path}/`,
      `${path}.rsc`,
      `${path}//`,
      `/${path}`,
      `${path}%00`,
      `${path};a=b`,
      `${path}/../${last}`,
      `${path}/%2e%2e/${last}`,
      path.replace("/v1/", "/V1/"),
      path.replace(last, `%${last.charCodeAt(0).toString(16)}${last.slice(1)}`),
      `${path}?_rsc=1`,
      `http://localhost${path}`,
    ]
    for (const target of written) {
      await expectTheSame({ method, path: target, headers: { "x-api-key": keys[surface], rsc: "1" } })
    }
  })
})

test.each([
  "/api/v1/openapi.json",
  "/api/v1/admin/skill.md",
  "/api/v1/me/skill.md",
  "/llms.txt",
  "/.well-known/agent-skills/index.json",
  "/api",
  "/api/v1",
  "/api/v1/nothing",
  "/api/v1/admin",
  "/api/v1/%zz",
  "/api/v1/%ff",
  "/api//v1/me",
  "/api/auth/providers",
  "/nothing",
])("%s, by every method", async (path) => {
  for (const method of ["GET", "HEAD", "POST", "PUT", "OPTIONS", "DELETE"]) await expectTheSame({ method, path })
})

test.each(["localhost:99999", "1.2.3.999", "[:::::]", "a b"])("asked for the host %s", async (host) => {
  keys = await freshKeys()
  const { status } = await expectTheSame({
    path: "/api/v1/me/credits?limit=1",
    headers: { host, "x-api-key": keys.user },
  })
  expect(status).toBe(200)
})

describe("a metered run", () => {
  const path = "/api/v1/me/run"

  test.each<[string, string | Buffer, Record<string, string>]>([
    ["no body", "", json],
    ["no JSON", "{", json],
    ["two fields of one name", '{"text":"a","text":"b"}', json],
    ["an unknown field", '{"text":"a","colour":"red"}', json],
    ["a wrong type", '{"text":1}', json],
    ["no UTF-8", Buffer.from([0x22, 0xff, 0x22]), json],
    ["NUL", '{"text":"\\u0000"}', json],
    ["a lone surrogate", '{"text":"\\ud800"}', json],
    ["nesting", "[".repeat(100_000), json],
    ["another type", "text=a", { "content-type": "application/x-www-form-urlencoded" }],
    ["a compressed body", "x", { ...json, "content-encoding": "gzip" }],
    ["too much", JSON.stringify({ text: "a".repeat(70_000) }), json],
    ["an empty Idempotency-Key", '{"text":"a"}', { ...json, "idempotency-key": "" }],
    ["a long Idempotency-Key", '{"text":"a"}', { ...json, "idempotency-key": "k".repeat(300) }],
  ])("refused for %s", async (_what, body, headers) => {
    keys = await freshKeys()
    const { status } = await expectTheSame({
      method: "POST",
      path,
      headers: { "x-api-key": keys.user, ...headers },
      body,
    })
    expect([400, 413]).toContain(status)
  })

  test.each<[Listener, Listener]>([
    ["lean", "next"],
    ["next", "lean"],
  ])("paid through %s is answered by %s byte for byte, and paid once", async (first, second) => {
    keys = await freshKeys()
    const sent: Sent = {
      method: "POST",
      path,
      headers: { ...json, "x-api-key": keys.user, "idempotency-key": "once" },
      body: JSON.stringify({ text: "A text of some words. Counted twice, paid once." }),
    }
    const paid = await askOne(first, sent)
    const again = await askOne(second, sent)
    expect(paid.status).toBe(200)
    expect(again.body).toBe(paid.body)
    expect(again.headers).toContain("idempotency-replayed: true")
    const ledger = { path: "/api/v1/me/credits?kind=reserve", headers: { "x-api-key": keys.user } }
    expect(JSON.parse((await expectTheSame(ledger)).body).meta.total).toBe(1)
    const mismatch = await expectTheSame({ ...sent, body: '{"text":"another"}' })
    expect(mismatch.status).toBe(422)
  })

  test("that the balance cannot cover", async () => {
    const poor = await createKey({ user: await createUser(), surface: "user" })
    const headers = { ...json, "x-api-key": poor.secret }
    expect((await expectTheSame({ method: "POST", path, headers, body: '{"text":"a"}' })).status).toBe(402)
  })
})

test("the listener brings no Prisma of its own: the client that pages share in this process is Next's", async () => {
  const bundle = await readFile(join(root, "dist/main.js"), "utf8")
  const packages = [...bundle.matchAll(/(?:from|import\() ?"([^"]+)"/g)].map(([, name]) => name)
  expect(packages).toContain("pg")
  expect(packages.filter((name) => name?.includes("prisma"))).toEqual([])
})
