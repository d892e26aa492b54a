import { readdir, readFile } from "node:fs/promises"
import { basename, join, relative } from "node:path"
import { Redis } from "ioredis"
import { beforeAll, describe, expect, test } from "vitest"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { product } from "@/lib/product"
import { changedCopy, renamed, seedChangedCopy, serveChangedCopy, sessionInCopy } from "./support/changed-copy"
import { crawl } from "./support/crawl"
import { createKey, createUser } from "./support/factories"
import { readForms } from "./support/forms"
import { type MailServer, startMailServer, verificationTokenIn } from "./support/mail-server"
import { startRedis } from "./support/redis"
import { queriesOf, readAlerts, readDashboard, selectorsIn } from "./support/watching"

// `npm run rename` in a copy: see support/changed-copy.ts. The prefix of this product's keys is an older prefix there.

/** The original slug and the one under which this code was published, as words or beginnings of longer names. */
const originalName = new RegExp(`\\b(${product.slug}|tsk)(?![a-z0-9])`, "i")

/** Pages about finding leaked keys, including keys with an older prefix. */
const namingPrefixes = ["/docs/leaks", "/api/v1/secret-pattern.json"]
const olderPrefixes = new RegExp(`\\b${product.slug}_(adm|usr)_`, "g")

const { slug, name } = renamed
const metricsToken = "a-token-for-metrics"

/** Prefixes that keep working, history, the copyright holders, and tests of a rename. */
const keeping =
  /^(lib\/product\.ts|CHANGELOG\.md|LICENSE|prisma\/migrations\/.*|tests\/rename\.test\.ts|tests\/support\/changed-copy\.ts)$/
const notSources = /(^|\/)node_modules\/|^(\.\w|generated|dist|test-results|public\/screens|docs\/screens)/

test("no file contains the original name", async () => {
  const entries = await readdir(changedCopy, { recursive: true, withFileTypes: true })
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(changedCopy, join(parentPath, name)))
    .filter((file) => !notSources.test(file) && !keeping.test(file))
  expect(files.length).toBeGreaterThan(900)
  const found = files.map(async (file) => {
    const [word] = `${file}\n${await readFile(join(changedCopy, file), "utf8")}`.match(originalName) ?? []
    return word ? [`${file}: ${word}`] : []
  })
  expect((await Promise.all(found)).flat()).toEqual([])
})

describe("built and served", () => {
  let base = ""
  let mail: MailServer
  let redis: Redis
  let output: () => string

  beforeAll(async () => {
    await seedChangedCopy()
    mail = await startMailServer()
    const store = await startRedis()
    redis = new Redis(store.url)
    const server = await serveChangedCopy({
      LOG_LEVEL: "info",
      METRICS_TOKEN: metricsToken,
      REDIS_URL: store.url,
      SMTP_URL: mail.url,
      EMAIL_FROM: "Shop <hello@example.com>",
    })
    ;({ base, output } = server)
    return async () => {
      redis.disconnect()
      await Promise.all([server.stop(), mail.stop(), store.stop()])
    }
  })

  test("no page and no document contains the original name", async () => {
    const owner = await db().user.findUniqueOrThrow({ where: { email: "owner@example.com" } })
    const reached = [
      ...(await crawl(base, "/")),
      ...(await crawl(base, "/.well-known/agent-skills/index.json")),
      ...(await crawl(base, "/icon")),
      ...(await crawl(base, "/admin", await sessionInCopy(owner))),
    ]
    expect(reached.map(([path]) => path)).toEqual(
      expect.arrayContaining([
        ...["/docs/user", "/admin/orders", "/api-keys", "/llms.txt"],
        ...["/api/v1/openapi.json", "/api/v1/admin/skill.md", "/api/v1/me/skill.md", ...namingPrefixes],
      ]),
    )
    for (const [path, { status, headers, text }] of reached) {
      const rest = namingPrefixes.includes(path) ? text.replaceAll(olderPrefixes, "") : text
      expect([path, status, (rest + namesAndValues(headers)).match(originalName)]).toEqual([path, 200, null])
      if (headers.get("content-type")?.startsWith("text/html")) expect(text).toContain(`${name}</title>`)
    }
  })

  test("cookies and emails do not contain the original name", async () => {
    const password = "four words make sense"
    const signedUp = await submit("/sign-up", { name: "Nova", email: "nova@example.com", password })
    expect(signedUp.headers.getSetCookie().join()).toContain(`${slug}.sign-up=`)
    await expect.poll(() => mail.emails.length).toBe(1)
    const verified = await submit(`/verify/${verificationTokenIn(mail.emails[0] ?? "")}`, { password })
    expect(verified.headers.getSetCookie().join()).toContain(`${slug}.session=`)
    for (const response of [signedUp, verified]) expect(await traces(response)).not.toMatch(originalName)
    await expect.poll(() => mail.emails.join()).toContain(`Welcome to ${name}`)
    expect(mail.emails.join()).not.toMatch(originalName)
  })

  async function submit(path: string, fields: Record<string, string>): Promise<Response> {
    const [form = {}] = readForms(await (await fetch(base + path)).text())
    const body = new FormData()
    for (const [field, value] of Object.entries({ ...form, ...fields })) body.append(field, value)
    return fetch(base + path, { method: "POST", redirect: "manual", headers: { origin: base }, body })
  }

  test("the files of ops have the new name, and ask for metrics of the copy", async () => {
    const ops = join(changedCopy, "ops")
    const entries = await readdir(ops, { recursive: true, withFileTypes: true })
    const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
    expect(files).toContain(join(ops, `${slug}.service`))
    for (const file of files) expect([file, (await readFile(file, "utf8")).match(originalName)]).toEqual([file, null])
    expect(files.filter((file) => originalName.test(basename(file)))).toEqual([])
    const text = await metricsText()
    const names = [...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name = ""]) => name)
    const queries = [
      ...(await readAlerts(changedCopy)).map(({ expr }) => expr),
      ...queriesOf(await readDashboard(changedCopy)),
    ]
    const used = queries.flatMap(selectorsIn).map(({ metric }) => metric.replace(/_(bucket|sum|count)$/, ""))
    expect(used.filter((metric) => metric !== "up" && !names.includes(metric))).toEqual([])
  })

  async function metricsText(): Promise<string> {
    const metrics = await fetch(`${base}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } })
    return metrics.text()
  }

  test("metrics, the log, rate limits and database objects do not contain the original name", async () => {
    const text = await metricsText()
    expect(text).toContain(`${slug}_http_requests_total{`)
    expect(text).not.toMatch(originalName)
    expect(output()).toContain('"status":200')
    expect(output()).not.toMatch(originalName)
    const keys = await redis.keys("*")
    expect(keys.length).toBeGreaterThan(0)
    expect(keys.filter((key) => !key.startsWith(`{${slug}:`))).toEqual([])
    const { rows } = await pool().query(`
      SELECT relname AS text FROM pg_class UNION ALL SELECT attname FROM pg_attribute
      UNION ALL SELECT conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
      UNION ALL SELECT proname || ' ' || prosrc FROM pg_proc UNION ALL SELECT tgname FROM pg_trigger
      UNION ALL SELECT typname FROM pg_type UNION ALL SELECT enumlabel FROM pg_enum`)
    expect(rows.filter(({ text }) => originalName.test(text))).toEqual([])
  })

  test("a key with an older prefix works", async () => {
    const { secret } = await createKey({ user: await createUser(), surface: "user" })
    expect(secret.startsWith(`${renamed.slug}_`)).toBe(false)
    const response = await fetch(`${base}/api/v1/me`, { headers: { "x-api-key": secret } })
    expect(response.status).toBe(200)
    expect(await traces(response)).not.toMatch(originalName)
  })

  test("a text that contains a key with an older prefix is refused", async () => {
    const { secret } = await createKey({ user: await createUser(), surface: "user" })
    const headers = { "x-api-key": secret, "Idempotency-Key": secret, "content-type": "application/json" }
    const response = await fetch(`${base}/api/v1/me/run`, { method: "POST", headers, body: "{}" })
    expect([response.status, await response.json()]).toEqual([
      400,
      { error: { code: "bad_request", message: expect.stringContaining("must not contain an API key") } },
    ])
  })

  async function traces(response: Response): Promise<string> {
    return namesAndValues(response.headers) + (await response.text())
  }
})

function namesAndValues(headers: Headers): string {
  return JSON.stringify([...headers])
}
