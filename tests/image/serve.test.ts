import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import sharp from "sharp"
import { beforeAll, expect, test } from "vitest"
import { uploadPath } from "@/lib/platform/http/body-limits"
import { db } from "@/lib/platform/postgres/prisma"
import { product } from "@/lib/product"
import { collect, type Given } from "@/scripts/build-and-serve"
import { freePort } from "@/scripts/postgres"
import { ask, formOf, sameOriginHeaders, sessionOf } from "@/tests/support/client"
import { crawl } from "@/tests/support/crawl"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { readForms } from "@/tests/support/forms"
import { checkHealth, firstPid } from "@/tests/support/image"
import { type MailServer, startMailServer, verificationTokenIn } from "@/tests/support/mail-server"
import { ownerPool } from "@/tests/support/owner"
import { startRedis } from "@/tests/support/redis"
import { startTestServer, type TestServer } from "@/tests/support/server"
import { work } from "@/tests/support/work"

// The image serves with two processes, a shared Redis and a mail server, as one deploys it; contract.test.ts calls its API.

let server: TestServer
let mail: MailServer
let given: Given
/** The paths to which traces were sent. */
const traced: string[] = []

const waiting =
  "SELECT FROM pg_locks JOIN pg_database d ON d.oid = database WHERE datname = current_database() AND NOT granted"
const listening = (of: TestServer) => of.output().match(/^Process \d+ listens/gm)?.length

beforeAll(async () => {
  mail = await startMailServer()
  const redis = await startRedis()
  const collector = createServer((request, response) => {
    traced.push(request.url ?? "")
    request.resume()
    response.end()
  }).listen(0, "127.0.0.1")
  await once(collector, "listening")
  given = {
    WEB_CONCURRENCY: "2",
    REDIS_URL: redis.url,
    SMTP_URL: mail.url,
    EMAIL_FROM: "Shop <hello@example.com>",
    LOG_LEVEL: "info",
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
    OTEL_BSP_SCHEDULE_DELAY: "200",
  }
  server = await startTestServer("image", given)
  return async () => {
    await server.stop()
    collector.close()
    await Promise.all([mail.stop(), redis.stop()])
  }
})

async function submit(path: string, fields: Record<string, string>) {
  const [form = {}] = readForms((await ask(server, { path })).text)
  return ask(server, { method: "POST", path, body: formOf({ ...form, ...fields }), headers: sameOriginHeaders() })
}

function healthAt(port: number): Promise<number> {
  const check = checkHealth({ PORT: String(port) })
  collect(check)
  return check.exited
}

test("each of its processes listens on the given port", async () => {
  await expect.poll(() => listening(server)).toBe(2)
  expect(server.output()).toContain(`:${server.port},`)
})

test("every page and document that is reachable by links renders, for guests and for staff", async () => {
  const owner = await createUser({ role: "owner" })
  const [guest, staff] = [
    await crawl(server.address, "/"),
    await crawl(server.address, "/admin", await sessionOf(owner)),
  ]
  const failed = [...guest, ...staff]
    .filter(([, { status }]) => status !== 200)
    .map(([path, { status }]) => [path, status])
  expect(failed).toEqual([])
  const expected = [
    "/docs",
    "/docs/user",
    "/docs/quickstart",
    "/docs/leaks",
    "/llms.txt",
    "/api/v1/me/skill.md",
    "/api/v1/openapi.json",
  ]
  expect([...guest.keys()]).toEqual(expect.arrayContaining(expected))
  expect([...staff.keys()]).toEqual(expect.arrayContaining(["/admin/users", "/admin/orders", "/api-keys"]))
})

test("files, and images that are drawn on request, are served", async () => {
  const html = (await ask(server, { path: "/" })).text
  const script = /src="(\/_next\/static\/[^"]+\.js)"/.exec(html)?.[1] ?? ""
  for (const [path, type] of [
    [script, "application/javascript"],
    ["/icon", "image/"],
    ["/opengraph-image", "image/png"],
  ] as const) {
    const { status, headers } = await ask(server, { path })
    expect([path, status, headers.get("content-type")]).toEqual([path, 200, expect.stringContaining(type)])
  }
})

test("a customer signs up by email, uploads a picture, and calls the API", async () => {
  const password = "four words make sense"
  const email = "nova@example.com"
  await submit("/sign-up", { name: "Nova", email, password })
  await expect.poll(() => mail.emails.length).toBe(1)
  expect(mail.htmlParts[0]).toContain("<!DOCTYPE html>")
  const verified = await submit(`/verify/${verificationTokenIn(mail.emails[0] ?? "")}`, { password })
  const cookie = verified.cookies.map((line) => line.split(";")[0]).join("; ")
  expect(cookie).toContain(`${product.slug}.session=`)
  const settings = await ask(server, { path: "/account/settings", headers: { cookie } })
  expect([settings.status, settings.text]).toEqual([200, expect.stringContaining("Nova")])

  const create = { width: 300, height: 300, channels: 3, background: "#336699" } as const
  const body = new FormData()
  body.set(
    "picture",
    new File([new Uint8Array(await sharp({ create }).png().toBuffer())], "me.png", { type: "image/png" }),
  )
  const headers = { ...sameOriginHeaders(), cookie }
  const saved = await ask(server, { method: "POST", path: uploadPath, body, headers })
  expect([saved.status, saved.headers.get("location")]).toEqual([303, "/account/settings?picture=saved"])
  const user = await db().user.findUniqueOrThrow({ where: { email } })
  const { version } = await db().userPicture.findUniqueOrThrow({ where: { userId: user.id } })
  const picture = await ask(server, { path: `/pictures/${version}`, headers: { cookie } })
  expect([picture.status, picture.headers.get("content-type")]).toEqual([200, "image/webp"])

  await grantCredits(user.id, 100)
  const { secret } = await createKey({ user, surface: "user" })
  const run = await ask(server, {
    method: "POST",
    path: work.path,
    headers: { "x-api-key": secret, "content-type": "application/json" },
    body: work.body,
  })
  expect(run.status).toBe(200)
})

test("traces are sent", async () => {
  await ask(server, { path: "/api/v1/me" })
  await expect.poll(() => traced).toContain("/v1/traces")
})

test("its health check succeeds for a 200, and fails for any other response or none", async () => {
  expect(await healthAt(server.port)).toBe(0)
  expect(await healthAt(await freePort())).toBe(1)
  const broken = createServer((_request, response) => response.writeHead(503).end()).listen(0, "127.0.0.1")
  await once(broken, "listening")
  expect(await healthAt((broken.address() as AddressInfo).port)).toBe(1)
  broken.close()
})

test("no process wrote to its root file system, and none exited", () => {
  expect(server.output()).not.toMatch(/EROFS|EACCES|read-only file system|worker_ended|page_failed/i)
})

test("on SIGTERM it completes the requests in progress and exits with code 0", async () => {
  const other = await startTestServer("image", given)
  await expect.poll(() => listening(other)).toBe(2)
  const { secret } = await createKey({ user: await createUser(), surface: "user" })
  const holder = await ownerPool().connect()
  await holder.query("BEGIN; LOCK TABLE api_keys IN ACCESS EXCLUSIVE MODE")
  const response = ask(other, { path: "/api/v1/me", headers: { "x-api-key": secret } })
  await expect.poll(async () => (await holder.query(waiting)).rowCount).toBe(1)
  process.kill(firstPid(other.output()), "SIGTERM")
  await expect
    .poll(() =>
      ask(other, { path: "/healthz" }).then(
        () => "served",
        () => "refused",
      ),
    )
    .toBe("refused")
  await holder.query("COMMIT")
  holder.release()
  expect((await response).status).toBe(200)
  expect(await other.exited).toBe(0)
})
