import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto"
import { once } from "node:events"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { beforeAll, beforeEach, expect, test, vi } from "vitest"
import { env } from "@/lib/env"
import { newSecret } from "@/lib/keys/secret"
import { db } from "@/lib/platform/postgres/prisma"
import { finishBackground } from "@/lib/platform/queues/background"
import { socketAddressHeader } from "@/lib/platform/rate-limit/client-address"
import { consume, limits } from "@/lib/platform/rate-limit/rate-limit"
import { log } from "@/lib/platform/telemetry/log"
import { singletons } from "@/lib/singleton"
import { createKey, createUser } from "@/tests/support/factories"
import { POST } from "./route"

/** The example in GitHub's documentation, with the key that signed it. */
const vector = {
  body: '[{"source":"commit","token":"some_token","type":"some_type","url":"https://example.com/base-repo-url/"}]',
  key: "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEYAGMWO8XgCamYKMJS6jc/qgvSlAd\nAjPuDPRcXU22YxgBrz+zoN19MzuRyW87qEt9/AmtoNP5GrobzUvQSyJFVw==\n-----END PUBLIC KEY-----\n",
  signature: "MEQCIQDaMKqrGnE27S0kgMrEK0eYBmyG0LeZismAEz/BgZyt7AIfXt9fErtRS4XaeSt/AO1RtBY66YcAdjxji410VQV4xg==",
}

/** GitHub identifies a key by the hash of its text. */
function identifierOf(pem: string): string {
  return createHash("sha256").update(pem).digest("hex")
}

type Signer = { pem: string; privateKey: KeyObject }

function newSigner(namedCurve = "prime256v1"): Signer {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve })
  return { pem: String(publicKey.export({ type: "spki", format: "pem" })), privateKey }
}

const github = newSigner()

/** The public keys that GitHub's server lists. */
let listed: string[] = []
let respondWith: (response: ServerResponse) => void
let reads = 0

const listOf = (pems: readonly string[]) =>
  JSON.stringify({
    public_keys: pems.map((key) => ({ key_identifier: identifierOf(key), key, is_current: true })),
  })

beforeAll(async () => {
  const server = createServer((_request, response) => {
    reads++
    respondWith(response)
  })
  await once(server.listen(0, "127.0.0.1"), "listening")
  env().GITHUB_KEYS_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/meta/public_keys/secret_scanning`
  return () => server.close()
})

beforeEach(() => {
  // As in a process that has just started.
  delete singletons["github-keys"]
  reads = 0
  listed = [github.pem, vector.key]
  respondWith = (response) => response.end(listOf(listed))
})

/** Makes the cached list of keys older. */
function age(ms: number): void {
  const state = singletons["github-keys"] as { readAt: number; triedAt: number }
  state.readAt -= ms
  state.triedAt -= ms
}

const minute = 60_000
const day = 24 * 60 * minute

type Message = { body: string | Buffer; signature?: string; identifier?: string; headers?: Record<string, string> }

async function send({ body, signature, identifier, headers }: Message) {
  const response = await POST(
    new Request("http://localhost:3000/api/leaks/github", {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(identifier !== undefined && { "github-public-key-identifier": identifier }),
        ...(signature !== undefined && { "github-public-key-signature": signature }),
        ...headers,
      },
      body: body as BodyInit,
    }),
  )
  return { status: response.status, body: await response.json() }
}

/** A message about the tokens, signed as GitHub does. */
function signed(tokens: readonly string[], { pem, privateKey }: Signer = github): Message & { body: string } {
  const url = "https://github.com/octocat/Hello-World/blob/1234/foo.txt"
  const body = JSON.stringify(tokens.map((token) => ({ token, type: "user_api_key", url, source: "content" })))
  return { body, ...signatureOf(body, privateKey), identifier: identifierOf(pem) }
}

function signatureOf(body: string, key: KeyObject) {
  return { signature: sign("sha256", Buffer.from(body), { key, dsaEncoding: "der" }).toString("base64") }
}

const refused = { status: 403, body: { error: { code: "invalid_signature", message: expect.any(String) } } }

async function issued(overrides = {}) {
  const user = await createUser()
  const { secret, key } = await createKey({ user, surface: "user", ...overrides })
  return { user, secret, id: key.id }
}

async function reasonOf(id: string) {
  await finishBackground()
  return (await db().apiKey.findUniqueOrThrow({ where: { id } })).revocationReason
}

function labelOf(token: string, label: "true_positive" | "false_positive") {
  return { token_hash: createHash("sha256").update(token).digest("hex"), token_type: "user_api_key", label }
}

test("GitHub's example verifies", async () => {
  const { body, signature, key } = vector
  const hash = createHash("sha256").update("some_token").digest("hex")
  expect(await send({ body, signature, identifier: identifierOf(key) })).toEqual({
    status: 200,
    body: [{ token_hash: hash, token_type: "some_type", label: "false_positive" }],
  })
})

test("a key that works is revoked, and each token is labelled by whether it was ever issued", async () => {
  const [live, revoked] = [await issued(), await issued({ revokedAt: new Date() })]
  const unknown = newSecret("user")
  expect(await send(signed([live.secret, revoked.secret, unknown, "no key", live.secret]))).toEqual({
    status: 200,
    body: [
      labelOf(live.secret, "true_positive"),
      labelOf(revoked.secret, "true_positive"),
      labelOf(unknown, "false_positive"),
      labelOf("no key", "false_positive"),
      labelOf(live.secret, "true_positive"),
    ],
  })
  expect(await reasonOf(live.id)).toBe("leaked")
  expect(await reasonOf(revoked.id)).toBeNull()
})

test("a repeated message gets the same response, and sends no second email", async () => {
  const { user, secret, id } = await issued()
  const message = signed([secret])
  const first = await send(message)
  await finishBackground()
  const revoked = await db().apiKey.findUniqueOrThrow({ where: { id } })
  expect(await send(message)).toEqual(first)
  await finishBackground()
  expect(await db().apiKey.findUniqueOrThrow({ where: { id } })).toEqual(revoked)
  expect(await db().email.count({ where: { to: user.email } })).toBe(1)
  expect(await db().auditEntry.count({ where: { targetId: id } })).toBe(1)
})

test("a body with any one byte changed is refused, and revokes nothing", async () => {
  const { secret, id } = await issued()
  const { body, ...rest } = signed([secret])
  for (let index = 0; index < body.length; index++) {
    const changed = Buffer.from(body)
    changed.writeUInt8(changed.readUInt8(index) ^ 1, index)
    expect(await send({ ...rest, body: changed }), `byte ${index}`).toEqual(refused)
  }
  expect(await send({ ...rest, body: `${body} ` })).toEqual(refused)
  expect(await reasonOf(id)).toBeNull()
})

test.each<[string, (message: Message & { body: string }) => Message]>([
  ["signed with another key", ({ body, identifier }) => ({ ...signed([]), body, identifier: identifier ?? "" })],
  ["signed with a key that is not listed", ({ body }) => ({ ...signed([], newSigner()), body })],
  ["under the identifier of another listed key", (message) => ({ ...message, identifier: identifierOf(vector.key) })],
  ["without a signature", ({ body, identifier }) => ({ body, identifier: identifier ?? "" })],
  ["without an identifier", ({ body, signature }) => ({ body, signature: signature ?? "" })],
  ["with an empty signature", (message) => ({ ...message, signature: "" })],
  ["with a signature that is not DER", (message) => ({ ...message, signature: "AAAA" })],
  ["with a signature in another encoding", (message) => ({ ...message, signature: "%%%" })],
  ["with a name of Object.prototype as its identifier", (message) => ({ ...message, identifier: "__proto__" })],
])("a message %s is refused, and revokes nothing", async (_what, change) => {
  const { secret, id } = await issued()
  expect(await send(change(signed([secret])))).toEqual(refused)
  expect(await reasonOf(id)).toBeNull()
})

test("a listed key of another curve is not trusted", async () => {
  const other = newSigner("secp384r1")
  listed.push(other.pem)
  expect(await send(signed([], other))).toEqual(refused)
})

test("the list is read once a day, and again at most once a minute for an unknown identifier", async () => {
  for (let times = 0; times < 3; times++) expect((await send(signed([]))).status).toBe(200)
  expect(reads).toBe(1)
  const later = newSigner()
  listed = [later.pem]
  expect(await send(signed([], later))).toEqual(refused)
  expect(reads).toBe(1)
  age(minute)
  expect(await Promise.all([1, 2, 3].map(() => send(signed([], later))))).toMatchObject(Array(3).fill({ status: 200 }))
  expect(reads).toBe(2)
})

test("a key that GitHub has removed from its list is no longer trusted after a day", async () => {
  expect((await send(signed([]))).status).toBe(200)
  listed = [vector.key]
  age(day - minute)
  expect((await send(signed([]))).status).toBe(200)
  age(minute)
  expect(await send(signed([]))).toEqual(refused)
  expect(reads).toBe(2)
})

test.each<[string, (response: ServerResponse) => void]>([
  ["returns an error", (response) => response.writeHead(500).end(listOf([github.pem]))],
  ["redirects", (response) => response.writeHead(302, { location: "/elsewhere" }).end()],
  ["returns no JSON", (response) => response.end("<html>")],
  ["returns something else", (response) => response.end('{"public_keys":[{"key":1}]}')],
  ["returns a malformed key", (response) => response.end(listOf(["no key"]))],
  ["returns more than a list can have", (response) => response.end(listOf([github.pem]) + " ".repeat(300_000))],
  ["closes the connection", (response) => response.destroy()],
  ["never ends its response", (response) => response.write("{")],
])(
  "while GitHub's server %s, a list of the last day is used; without one, a message gets a 503",
  async (_what, fail) => {
    vi.spyOn(log(), "error").mockImplementation(() => {})
    const works = respondWith
    respondWith = fail
    const unavailable = { status: 503, body: { error: { code: "service_unavailable", message: expect.any(String) } } }
    expect(await send(signed([]))).toEqual(unavailable)
    expect(await send(signed([]))).toEqual(unavailable)
    expect(reads).toBe(1)

    age(minute)
    respondWith = works
    expect((await send(signed([]))).status).toBe(200)
    respondWith = fail
    age(minute)
    expect(await send(signed([], newSigner()))).toEqual(refused)
    expect((await send(signed([]))).status).toBe(200)
    age(day)
    expect(await send(signed([]))).toEqual(unavailable)
  },
)

test("without the identifier of one of GitHub's keys, neither the list nor the body is read", async () => {
  const body = "x".repeat(2_000_000)
  expect(await send({ body, identifier: "a", signature: "b" })).toEqual(refused)
  expect(reads).toBe(0)
  expect(await send({ body, identifier: identifierOf("another"), signature: "b" })).toEqual(refused)
})

test.each<[string, string, number]>([
  ["no JSON", "{", 400],
  ["an object", "{}", 400],
  ["a token that is not a string", '[{"token":1,"type":"a"}]', 400],
  ["a match without a type", '[{"token":"a"}]', 400],
  ["more than 1 MiB", `[${" ".repeat(1_048_575)}]`, 413],
  ["no match", "[]", 200],
])("a signed message with %s gets a response", async (_what, body, status) => {
  const message = { body, ...signatureOf(body, github.privateKey), identifier: identifierOf(github.pem) }
  expect((await send(message)).status).toBe(status)
})

test("a signed message with a thousand matches gets a response", async () => {
  const tokens = Array.from({ length: 1_000 }, () => newSecret("user"))
  const { status, body } = await send(signed(tokens))
  expect([status, body.length]).toEqual([200, 1_000])
})

test("of 1,201 signed reports from one address within an hour the last is refused before its signature is verified", async () => {
  const address = { [socketAddressHeader]: "203.0.113.1" }
  const { tokens } = limits.signedReportsAddress
  for (let count = 0; count < tokens; count++) await consume("signedReportsAddress", "203.0.113.1")
  const refused = await send({ body: "[]", headers: address })
  expect([refused.status, reads]).toEqual([429, 0])
  expect((await send({ body: "[]", headers: { [socketAddressHeader]: "203.0.113.2" } })).status).toBe(403)
})
