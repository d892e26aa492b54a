import { execFile } from "node:child_process"
import { copyFile, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { load, YAML11_SCHEMA } from "js-yaml"
import { expect, test } from "vitest"
import { envNames, parseEnv } from "@/lib/env"
import { version } from "@/lib/platform/version"
import { root } from "@/scripts/root"

// The text of the Dockerfile and of compose.yaml; tests/image builds and runs the Dockerfile.

type Service = {
  image: string
  build?: string
  command?: string[]
  environment?: Record<string, string>
  healthcheck?: { test: string[] }
  depends_on?: Record<string, { condition: string }>
  ports?: string[]
  read_only?: boolean
  stop_grace_period?: string
  networks?: { machines?: { ipv4_address: string } }
}

const run = promisify(execFile)
const dockerfile = await readFile(join(root, "Dockerfile"), "utf8")
const compose = await readFile(join(root, "compose.yaml"), "utf8")
// With merge keys, which Compose reads.
const { services } = load(compose, { schema: YAML11_SCHEMA }) as { services: Record<string, Service> }
const { product, migrate } = services

/** Replaces variables as Compose does. */
function resolved(text: string, given: Record<string, string> = {}): string {
  return text.replaceAll(/\$\{(\w+)(?::[-?]([^}]*))?\}/g, (_, name, fallback = "") => given[name] ?? fallback)
}

test("the image is labelled with the version of package.json, and its base is pinned", () => {
  expect(/image\.version="([^"]*)"/.exec(dockerfile)?.[1]).toBe(version)
  expect(dockerfile).toMatch(/^ARG NODE_IMAGE=node:\d+\.\d+\.\d+-\w+-slim$/m)
  for (const [, base] of dockerfile.matchAll(/^FROM (\S+)/gm)) expect(base).toMatch(/^\$\{NODE_IMAGE\}$/)
})

test("the image is built without any variable of the product and without secrets", () => {
  expect(dockerfile.match(/^ARG \w+/gm)).toEqual(["ARG NODE_IMAGE"])
  expect(dockerfile).not.toContain("--mount=type=secret")
  expect(envNames.filter((name) => name !== "NODE_ENV" && new RegExp(`\\b${name}\\b`).test(dockerfile))).toEqual([])
})

test("every service waits until the services that it needs are healthy or have completed", () => {
  for (const [name, { depends_on = {} }] of Object.entries(services)) {
    for (const [needed, { condition }] of Object.entries(depends_on)) {
      const isTask = needed === "migrate"
      expect([name, needed, condition]).toEqual([
        name,
        needed,
        isTask ? "service_completed_successfully" : "service_healthy",
      ])
      if (!isTask) expect([needed, services[needed]?.healthcheck?.test[0]]).toEqual([needed, "CMD"])
    }
  }
  expect(Object.keys(product?.depends_on ?? {}).sort()).toEqual(["mail", "migrate", "redis"])
  expect(migrate?.command).toEqual(["migrate"])
})

test("every image except the product's is pinned, and every port is open on this machine only", () => {
  for (const { image, build, ports = [] } of Object.values(services)) {
    if (!build) expect(image).toMatch(/:v?\d+\.\d+[\w.-]*$/)
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/)
  }
})

test("the product gets variables that it knows and accepts, and only migrations get the owner of the tables", () => {
  const given = {
    AUTH_SECRET: "s".repeat(64),
    RUNTIME_PASSWORD: "r",
    METRICS_TOKEN: "m".repeat(64),
    OWNER_PASSWORD: "o",
  }
  const variables = Object.fromEntries(
    Object.entries(product?.environment ?? {}).map(([name, value]) => [name, resolved(value, given)]),
  )
  expect(Object.keys(variables).filter((name) => !envNames.includes(name))).toEqual([])
  expect(parseEnv({ ...variables, NODE_ENV: "production" })).toMatchObject({
    WEB_CONCURRENCY: 2,
    STAFF_MFA: "required",
  })
  expect(JSON.stringify(product)).not.toContain("OWNER_PASSWORD")
  const { MIGRATE_DATABASE_URL: owner = "", DATABASE_URL: runtime = "" } = migrate?.environment ?? {}
  expect([new URL(resolved(owner, given)).username, new URL(resolved(runtime, given)).username]).toEqual([
    "owner",
    "runtime",
  ])
})

test("the server is read-only, and its stop timeout is longer than its shutdown", async () => {
  const operation = await readFile(join(root, "docs/operation.md"), "utf8")
  const [, graceSeconds] = /still in progress after (\d+) seconds/.exec(operation) ?? []
  expect(Number.parseInt(product?.stop_grace_period ?? "", 10)).toBeGreaterThanOrEqual(Number(graceSeconds) + 5)
  expect(product?.read_only).toBe(true)
})

test("no secret has a default: one command writes them, once, to a file that only its user reads", async () => {
  const needed = new Set([...compose.matchAll(/\$\{(\w+):\?/g)].map(([, name = ""]) => name))
  const directory = await mkdtemp(join(tmpdir(), "compose-"))
  const file = join(directory, ".env")
  await mkdir(join(directory, "scripts"))
  const script = join(directory, "scripts/compose-secrets.sh")
  await copyFile(join(root, "scripts/compose-secrets.sh"), script)
  await writeFile(file, "AUTH_SECRET=\nBASE_URL=https://app.example.com", { mode: 0o644 })
  await run("sh", [script])
  const first = await readFile(file, "utf8")
  const written = Object.fromEntries(
    [...first.matchAll(/^(\w+)=([0-9a-f]{64})$/gm)].map(([, name, value]) => [name, value]),
  )
  expect(Object.keys(written)).toEqual(expect.arrayContaining([...needed]))
  expect(new Set(Object.values(written)).size).toBe(Object.keys(written).length)
  expect(first).toContain("\nBASE_URL=https://app.example.com\n")
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  await run("sh", [script])
  expect(await readFile(file, "utf8")).toBe(first)
  await rm(directory, { recursive: true })
  const secrets = [...compose.matchAll(/\w*(?:PASSWORD|SECRET)\w*: (.*)/g)].map(([, value]) => value)
  for (const value of secrets) expect(value).toMatch(/^\$\{\w+:(\?|-\}$)/)
})

test("the trial of the cluster uses the files of ops/ha with their addresses, and variables that the product accepts", async () => {
  const read = (file: string) => readFile(join(root, "ops/ha", file), "utf8")
  const { services } = load(await read("compose.yaml"), { schema: YAML11_SCHEMA }) as {
    services: Record<string, Service>
  }
  const used = await Promise.all(["etcd.env", "patroni.env", "haproxy.cfg"].map(read))
  for (const text of used) expect(new Set(text.match(/10\.0\.0\.1[1-3]/g)).size).toBe(3)
  for (const [name, number] of [
    ["db1", 11],
    ["db2", 12],
    ["db3", 13],
  ] as const) {
    const ADDRESS = `10.0.0.${number}`
    expect(services[name]).toMatchObject({
      environment: { NAME: name, ADDRESS },
      networks: { machines: { ipv4_address: ADDRESS } },
    })
    expect(used[0]).toContain(`${name}=http://${ADDRESS}:2380`)
  }
  const { environment = {} } = services.server1 ?? {}
  const given = { AUTH_SECRET: "s".repeat(64), RUNTIME_PASSWORD: "r" }
  const variables = Object.entries(environment).map(([name, value]) => [name, resolved(value, given)])
  expect(parseEnv({ ...Object.fromEntries(variables), NODE_ENV: "production" })).toMatchObject({
    NODE_ENV: "production",
  })
  expect(JSON.stringify(services.server1)).not.toContain("OWNER_PASSWORD")
})
