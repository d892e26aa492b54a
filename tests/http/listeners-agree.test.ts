import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { beforeAll, describe, expect, test } from "vitest"
import { endpoints } from "@/app/api/v1/endpoints"
import { newSecret } from "@/lib/keys/secret"
import type { Surface } from "@/lib/surfaces"
import { seed } from "@/prisma/seed"
import type { Listener } from "@/scripts/build-and-serve"
import { root } from "@/scripts/root"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { ownerPool } from "@/tests/support/owner"
import { ask, exchange, responsesIn, type Sent, summaryOf } from "@/tests/support/raw-http"
import { inTurn } from "@/tests/support/sample"
import { startTestServer, type TestServer } from "@/tests/support/server"
import { otherBodies, work } from "@/tests/support/work"
import { differences, key } from "./raw-requests"

// A request gets the same response from the product's listener (`npm start`) and from Next alone (a serverless host).
// Both share one database and one fixed time, so the responses are compared byte for byte. docs/listeners.md lists the
// differences. `LONG=1` compares every query, credential, method and spelling at every endpoint.

const all = await endpoints()
let servers: Record<Listener, TestServer>
let keys: Record<Surface, string>

beforeAll(async () => {
  await seed(ownerPool(), { users: 60, now: new Date() })
  const now = Date.now()
  // Without the log of requests, whose lists change with every request.
  const given = { REQUEST_LOG_DAYS: "0" }
  servers = { lean: await startTestServer("lean", given, now), next: await startTestServer("next", given, now) }
  return () => Promise.all(Object.values(servers).map(({ stop }) => stop()))
})

let accounts = 0

/** Creates an account with unspent credits and returns its unused keys. */
async function freshKeys(): Promise<Record<Surface, string>> {
  const user = await createUser({ role: "owner", email: `both-${accounts++}@example.com` })
  await grantCredits(user.id, 1_000)
  const [admin, own] = [await createKey({ user, surface: "admin" }), await createKey({ user, surface: "user" })]
  return { admin: admin.secret, user: own.secret }
}

async function askOne(listener: Listener, { headers, ...sent }: Sent) {
  const named = { "x-request-id": "the-same-for-both", ...headers }
  const { headers: given, body, ...response } = await ask(servers[listener].address, { ...sent, headers: named })
  // Every page has a new nonce.
  const nonce = /'nonce-([^']+)'/.exec(given.get("content-security-policy") ?? "")?.[1] ?? "nonce"
  const lines = [...given].filter(([name]) => !ignoredHeaders.includes(name)).map((line) => line.join(": "))
  return { ...response, headers: lines.map((line) => line.replaceAll(nonce, "")), body: body.replaceAll(nonce, "") }
}

type ComparedResponse = Awaited<ReturnType<typeof askOne>>

// Headers of the connection, its framing and the clock, and `Vary`, which Next sets because it can also render pages.
const ignoredHeaders = ["connection", "content-length", "date", "keep-alive", "transfer-encoding", "vary"]

async function expectTheSame(sent: Sent): Promise<ComparedResponse> {
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

const endpointsInTurn = all.map(({ path, method, surface }, place) => ({ path, method, surface, place }))

describe.each(endpointsInTurn)("$method $path", ({ path, method, surface, place }) => {
  test("responds the same to a key of its surface, with any query", async () => {
    keys = await freshKeys()
    for (const search of new Set(["", ...inTurn([...searches, ...wrongSearches], place)])) {
      const { status } = await expectTheSame({ method, path: path + search, headers: { "x-api-key": keys[surface] } })
      expect([200, 400]).toContain(status)
    }
  })

  test("responds the same without a valid key: with no key, an invalid one, one of the other surface or two", async () => {
    keys = await freshKeys()
    const other = keys[surface === "admin" ? "user" : "admin"]
    const credentials: [headers: Record<string, string>, status: number][] = [
      [{}, 401],
      [{ authorization: "Bearer" }, 401],
      [{ authorization: `Bearer ${newSecret(surface)}` }, 401],
      [{ authorization: `Basic ${keys[surface]}` }, 401],
      [{ authorization: `BEARER   ${other}` }, 403],
      [{ authorization: `Bearer ${keys[surface]}`, "x-api-key": other }, 400],
      [{ "x-api-key": "ÿþ" }, 401],
      [{ cookie: "next-auth.session-token=x" }, 401],
    ]
    for (const [headers, status] of inTurn(credentials, place)) {
      expect((await expectTheSame({ method, path, headers })).status).toBe(status)
    }
  })

  test("responds the same to every method", async () => {
    keys = await freshKeys()
    for (const called of inTurn(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"], place)) {
      await expectTheSame({ method: called, path, headers: { "x-api-key": keys[surface] } })
      await expectTheSame({ method: called, path })
    }
  })

  test("responds the same to other spellings of its path", async () => {
    keys = await freshKeys()
    const last = path.slice(path.lastIndexOf("/") + 1)
    const targets = [
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
    for (const target of inTurn(targets, place)) {
      await expectTheSame({ method, path: target, headers: { "x-api-key": keys[surface], rsc: "1" } })
    }
  })
})

test.each([
  "/api/v1/openapi.json",
  "/api/v1/admin/skill.md",
  "/api/v1/me/skill.md",
  "/api/v1/secret-pattern.json",
  "/api/leaks",
  "/api/leaks/github",
  "/llms.txt",
  "/.well-known/agent-skills/index.json",
  "/.well-known/security.txt",
  "/api",
  "/api/v1",
  "/api/v1/nothing",
  "/api/v1/admin",
  "/api/v1/%zz",
  "/api/v1/%ff",
  "/api//v1/me",
  "/api/auth/providers",
  "/nothing",
])("%s responds the same to every method", async (path) => {
  for (const method of ["GET", "HEAD", "POST", "PUT", "OPTIONS", "DELETE"]) await expectTheSame({ method, path })
})

test.each(["localhost:99999", "1.2.3.999", "[:::::]", "a b"])(
  "a request with the host %s gets the same response",
  async (host) => {
    keys = await freshKeys()
    const { status } = await expectTheSame({
      path: "/api/v1/me/credits?limit=1",
      headers: { host, "x-api-key": keys.user },
    })
    expect(status).toBe(200)
  },
)

test.each<[string, string | Buffer, Record<string, string>, number]>([
  ["a key", JSON.stringify({ keys: [newSecret("user")] }), json, 202],
  ["no key", '{"keys":[]}', json, 400],
  ["invalid JSON", "{", json, 400],
  ["invalid UTF-8", Buffer.from([0x22, 0xff, 0x22]), json, 400],
  ["another content type", "keys=a", { "content-type": "text/plain" }, 400],
  ["a body that is too large", JSON.stringify({ keys: ["a".repeat(70_000)] }), json, 413],
])("a report of leaked keys gets the same response for %s", async (_name, body, headers, status) => {
  const path = "/api/leaks"
  expect((await expectTheSame({ method: "POST", path, headers, body })).status).toBe(status)
  expect((await expectTheSame({ method: "POST", path: `${path}?a=b`, headers, body })).status).toBe(400)
  const github = { ...headers, "github-public-key-identifier": "a", "github-public-key-signature": "b" }
  const sent = { method: "POST", path: "/api/leaks/github", headers: github, body }
  expect((await expectTheSame(sent)).status).toBe(403)
})

test("a key reported to either listener is revoked for both", async () => {
  for (const listener of ["lean", "next"] as const) {
    const { user } = await freshKeys()
    const headers = { ...json, "x-forwarded-for": "10.2.0.1" }
    const sent = { method: "POST", path: "/api/leaks", headers, body: JSON.stringify({ keys: [user] }) }
    expect((await askOne(listener, sent)).status).toBe(202)
    const me = { path: "/api/v1/me", headers: { "x-api-key": user } }
    await expect.poll(async () => (await askOne("lean", me)).status).toBe(401)
    await expectTheSame(me)
  }
})

describe("a metered run", () => {
  const { path } = work

  test.each<[string, string | Buffer, Record<string, string>]>([
    ["no body", "", json],
    ["invalid JSON", "{", json],
    ["repeated fields", `${work.body.slice(0, -1)},${work.body.slice(1)}`, json],
    ["an unknown field", work.body.replace("{", '{"__proto__":"red",'), json],
    ["a wrong type", "[1]", json],
    ["invalid UTF-8", Buffer.from([0x22, 0xff, 0x22]), json],
    ["deep nesting", "[".repeat(100_000), json],
    ["another content type", "text=a", { "content-type": "application/x-www-form-urlencoded" }],
    ["a compressed body", "x", { ...json, "content-encoding": "gzip" }],
    ["a body that is too large", work.body.padEnd(70_000), json],
    ["an empty Idempotency-Key", work.body, { ...json, "idempotency-key": "" }],
    ["a long Idempotency-Key", work.body, { ...json, "idempotency-key": "k".repeat(300) }],
  ])("is refused the same for %s", async (_name, body, headers) => {
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
  ])("sent through %s and repeated through %s returns the same body and is charged once", async (first, second) => {
    keys = await freshKeys()
    const sent: Sent = {
      method: "POST",
      path,
      headers: { ...json, "x-api-key": keys.user, "idempotency-key": "once" },
      body: work.body,
    }
    const original = await askOne(first, sent)
    const replay = await askOne(second, sent)
    expect(original.status).toBe(200)
    expect(replay.body).toBe(original.body)
    expect(replay.headers).toContain("idempotency-replayed: true")
    const ledger = { path: "/api/v1/me/credits?kind=reserve", headers: { "x-api-key": keys.user } }
    expect(JSON.parse((await expectTheSame(ledger)).body).meta.total).toBe(1)
    for (const body of otherBodies) expect((await expectTheSame({ ...sent, body })).status).toBe(422)
  })

  test("that exceeds the balance is refused the same", async () => {
    const key = await createKey({ user: await createUser(), surface: "user" })
    const headers = { ...json, "x-api-key": key.secret }
    expect((await expectTheSame({ method: "POST", path, headers, body: work.body })).status).toBe(402)
  })
})

test("the listener bundles no Prisma client: the process uses the one that Next bundles", async () => {
  const imports = new Set(["./main.js"])
  for (const file of imports) {
    if (!file.startsWith("./")) continue
    const source = await readFile(join(root, "dist", file), "utf8")
    for (const [, name = ""] of source.matchAll(/(?:from|import|import\() ?"([^"]+)"/g)) imports.add(name)
  }
  expect(imports).toContain("pg")
  expect([...imports].filter((name) => name.includes("prisma"))).toEqual([])
})

describe("differences of Next alone", () => {
  async function responsesTo(listener: Listener, sent: readonly string[]): Promise<string[]> {
    const parts = sent.map((part) => part.replaceAll(key, keys.user))
    return responsesIn(await exchange(servers[listener].port, parts)).map(summaryOf)
  }

  test.each(differences.map((row) => [row[0], row] as const))("%s", async (_name, row) => {
    const [, sent, lean, next, nextOnNode20 = next] = row
    expect(await responsesTo("lean", sent)).toEqual(lean)
    expect(await responsesTo("next", sent)).toEqual(process.version.startsWith("v20.") ? nextOnNode20 : next)
  })

  test("docs/listeners.md lists exactly these", async () => {
    const document = await readFile(join(root, "docs/listeners.md"), "utf8")
    const lines = document.split("\n").filter((line) => line.startsWith("| "))
    const cells = lines.map((line) =>
      line
        .slice(2, -2)
        .split("|")
        .map((cell) => cell.trim()),
    )
    const cellOf = (responses: readonly string[]) => responses.join(", ") || "nothing"
    expect(cells.slice(2)).toEqual(
      differences.map(([name, , lean, next, nextOnNode20]) => [
        name,
        cellOf(lean),
        cellOf(next) + (nextOnNode20 ? `; on Node 20: ${cellOf(nextOnNode20)}` : ""),
      ]),
    )
  })
})
