import { createHash, generateKeyPairSync, sign } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:http"
import { type AddressInfo, createServer as listenRaw, type Socket } from "node:net"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { newSecret } from "@/lib/keys/secret"
import { db } from "@/lib/platform/postgres/prisma"
import { createKey, createUser } from "@/tests/support/factories"
import { type MailServer, startMailServer } from "@/tests/support/mail-server"
import { ask } from "@/tests/support/raw-http"
import { listeners } from "@/tests/support/sample"
import { startTestServer, type TestServer } from "@/tests/support/server"

// Reports of leaked keys. app/api/leaks holds the tests of the routes themselves.

const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" })
const pem = String(publicKey.export({ type: "spki", format: "pem" }))
const identifier = createHash("sha256").update(pem).digest("hex")

/** In place of GitHub's server of public keys. */
const github = createServer((_request, response) => {
  response.end(JSON.stringify({ public_keys: [{ key_identifier: identifier, key: pem, is_current: true }] }))
})
let keysUrl = ""

beforeAll(async () => {
  await once(github.listen(0, "127.0.0.1"), "listening")
  keysUrl = `http://127.0.0.1:${(github.address() as AddressInfo).port}/`
})

afterAll(() => github.close())

let addresses = 0

function post(server: TestServer, path: string, body: string, headers: Record<string, string> = {}) {
  const address = `10.3.${addresses >> 8}.${addresses++ & 255}`
  return ask(server.address, {
    method: "POST",
    path,
    body,
    headers: { "content-type": "application/json", "x-forwarded-for": address, ...headers },
  })
}

function report(server: TestServer, ...keys: readonly string[]) {
  return post(server, "/api/leaks", JSON.stringify({ keys }))
}

async function issued() {
  const user = await createUser()
  return { user, ...(await createKey({ user, surface: "user" })) }
}

async function isLeaked({ key: { id } }: Awaited<ReturnType<typeof issued>>): Promise<boolean> {
  return (await db().apiKey.findUniqueOrThrow({ where: { id } })).revocationReason === "leaked"
}

describe.each(listeners)("%s", (listener) => {
  let mail: MailServer
  let server: TestServer
  const start = () =>
    startTestServer(listener, { GITHUB_KEYS_URL: keysUrl, SMTP_URL: mail.url, EMAIL_FROM: "shop@example.com" })

  beforeAll(async () => {
    mail = await startMailServer()
    server = await start()
    return async () => {
      await server.stop()
      await mail.stop()
    }
  })

  test("a message that GitHub has signed revokes the keys in it; any other message revokes nothing", async () => {
    const [leaked, other, unknown] = [await issued(), await issued(), newSecret("user")]
    const body = JSON.stringify(
      [leaked.secret, unknown].map((token) => ({ token, type: "a", url: "", source: "commit" })),
    )
    const signature = sign("sha256", Buffer.from(body), { key: privateKey, dsaEncoding: "der" }).toString("base64")
    const headers = { "GITHUB-PUBLIC-KEY-IDENTIFIER": identifier, "GITHUB-PUBLIC-KEY-SIGNATURE": signature }
    const hashOf = (token: string) => createHash("sha256").update(token).digest("hex")

    const response = await post(server, "/api/leaks/github", body, headers)
    expect([response.status, JSON.parse(response.body)]).toEqual([
      200,
      [
        { token_hash: hashOf(leaked.secret), token_type: "a", label: "true_positive" },
        { token_hash: hashOf(unknown), token_type: "a", label: "false_positive" },
      ],
    ])
    await expect.poll(() => isLeaked(leaked)).toBe(true)
    const changed = body.replace(unknown, other.secret)
    expect((await post(server, "/api/leaks/github", changed, headers)).status).toBe(403)
    // Background work runs in order.
    const later = await issued()
    await report(server, later.secret)
    await expect.poll(() => isLeaked(later)).toBe(true)
    expect(await isLeaked(other)).toBe(false)
  })

  test("an unresponsive mail server does not delay revocations", async () => {
    const sockets = new Set<Socket>()
    const silent = listenRaw((socket) => sockets.add(socket.on("error", () => {})))
    await once(silent.listen(0, "127.0.0.1"), "listening")
    const { port } = silent.address() as AddressInfo
    const server = await startTestServer(listener, {
      SMTP_URL: `smtp://127.0.0.1:${port}`,
      EMAIL_FROM: "shop@example.com",
    })
    const [first, second] = [await issued(), await issued()]
    await report(server, first.secret)
    await expect.poll(() => sockets.size).toBe(1)
    await report(server, second.secret)
    await expect.poll(() => isLeaked(second)).toBe(true)
    expect(await db().email.count({ where: { to: first.user.email } })).toBe(0)
    for (const socket of sockets) socket.destroy()
    silent.close()
    await server.stop()
  })

  test("the excess of reports from one address is refused, regardless of their content", async () => {
    const headers = { "x-forwarded-for": "192.0.2.9" }
    const { secret } = await issued()
    const statuses: number[] = []
    for (const body of ['{"keys":["no key"]}', "{", JSON.stringify({ keys: [newSecret("user")] })]) {
      for (let times = 0; times < 20; times++) statuses.push((await post(server, "/api/leaks", body, headers)).status)
    }
    for (const body of [JSON.stringify({ keys: [secret] }), "{"]) {
      statuses.push((await post(server, "/api/leaks", body, headers)).status)
    }
    expect(statuses).toEqual([...Array(20).fill(202), ...Array(20).fill(400), ...Array(20).fill(202), 429, 429])
  })

  test("if several processes get reports of the same keys and shut down, each key is revoked and reported once", async () => {
    const servers = [server, await start()]
    const keys = [await issued(), await issued(), await issued()]
    const secrets = keys.map(({ secret }) => secret)
    const sent = servers.flatMap((to) => [report(to, ...secrets), report(to, ...secrets.toReversed())])
    expect((await Promise.all(sent)).map(({ status }) => status)).toEqual([202, 202, 202, 202])
    await Promise.all(servers.map(({ stop }) => stop()))
    for (const leaked of keys) {
      expect(await isLeaked(leaked)).toBe(true)
      expect(await db().auditEntry.count({ where: { targetId: leaked.key.id } })).toBe(1)
      expect(await db().email.count({ where: { to: leaked.user.email } })).toBe(1)
      expect(mail.emails.filter((email) => email.includes(`/api-keys/${leaked.key.id}/report`))).toHaveLength(1)
    }
  })
})
