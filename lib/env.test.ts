import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { describe, expect, test } from "vitest"
import { demoPayments, envNames, parseEnv } from "@/lib/env"

const complete = {
  DATABASE_URL: "postgresql://app@localhost:5432/app",
  AUTH_SECRET: "0123456789abcdef0123456789abcdef",
  BASE_URL: "https://app.example.com",
}

test("the required variables are sufficient, and all others have defaults", () => {
  expect(parseEnv(complete)).toEqual({
    ...complete,
    NODE_ENV: "development",
    DATABASE_POOL_MAX: 10,
    DATABASE_WAIT_MS: 2400,
    LOOP_DELAY_MS: 60_000,
    DATABASE_PREPARE: "on",
    TRUSTED_PROXY_HOPS: 0,
    PORT: 3000,
    WEB_CONCURRENCY: 1,
    REDIS_TIMEOUT_MS: 250,
    REQUEST_LOG_DAYS: 30,
    SWEEPER: "on",
    LOG_LEVEL: "info",
    VERIFY_EMAIL: "on",
    DEMO: "off",
    PASSWORD_HASH_COST: 17,
    STAFF_MFA: "off",
    GITHUB_KEYS_URL: "https://api.github.com/meta/public_keys/secret_scanning",
    WELCOME_CREDITS: 100,
    STRIPE_MANAGED_PAYMENTS: "off",
  })
})

test("all problems are reported together, one line each, starting with the variable", () => {
  const problems = problemsOf({ NODE_ENV: "staging", AUTH_SECRET: "short", TRUSTED_PROXY_HOPS: "many" })
  expect(problems.slice(1).map((line) => line.trim().split(" ")[0])).toEqual([
    "NODE_ENV",
    "DATABASE_URL",
    "AUTH_SECRET",
    "BASE_URL",
    "TRUSTED_PROXY_HOPS",
  ])
})

test.each(["DATABASE_URL", "AUTH_SECRET", "BASE_URL"])("without %s the message states what is expected", (name) => {
  expect(problemsOf({ ...complete, [name]: undefined })[1]).toMatch(new RegExp(`${name} is required: .+`))
})

test("an empty value counts as absent", () => {
  expect(parseEnv({ ...complete, REDIS_URL: "", DATABASE_POOL_MAX: "" })).toEqual(parseEnv(complete))
  expect(problemsOf({ ...complete, AUTH_SECRET: "" })[1]).toContain("AUTH_SECRET is required")
})

test.each([
  ["UPSTASH_REDIS_REST_URL", "https://eu1.upstash.io", "UPSTASH_REDIS_REST_TOKEN"],
  ["UPSTASH_REDIS_REST_TOKEN", "token", "UPSTASH_REDIS_REST_URL"],
  ["SMTP_URL", "smtp://localhost:25", "EMAIL_FROM"],
  ["GITHUB_CLIENT_ID", "id", "GITHUB_CLIENT_SECRET"],
  ["GITHUB_CLIENT_SECRET", "secret", "GITHUB_CLIENT_ID"],
  ["GOOGLE_CLIENT_ID", "id", "GOOGLE_CLIENT_SECRET"],
  ["GOOGLE_CLIENT_SECRET", "secret", "GOOGLE_CLIENT_ID"],
  ["STRIPE_SECRET_KEY", "sk_live_1", "STRIPE_WEBHOOK_SECRET"],
  ["STRIPE_WEBHOOK_SECRET", "whsec_1", "STRIPE_SECRET_KEY"],
])("%s without its counterpart is refused", (name, value, missing) => {
  expect(problemsOf({ ...complete, [name]: value })).toEqual([
    expect.any(String),
    `  ${missing} is required when ${name} is set`,
  ])
})

test("two rate limit stores are refused", () => {
  const both = { REDIS_URL: "redis://localhost", UPSTASH_REDIS_REST_URL: "https://u.io", UPSTASH_REDIS_REST_TOKEN: "t" }
  expect(problemsOf({ ...complete, ...both })[1]).toContain("REDIS_URL")
})

test.each(["10.0.0.0/33", "2001:db8::/129", "10.0.0.0/", "10.0.0.0/8/8", "10.0.0", "proxy.example.com", "10.0.0.0/-1"])(
  "TRUSTED_PROXIES refuses %s and names it",
  (entry) => {
    const problems = problemsOf({ ...complete, TRUSTED_PROXIES: `192.0.2.1, ${entry}` })
    expect(problems).toEqual([expect.any(String), expect.stringContaining(`TRUSTED_PROXIES contains "${entry}"`)])
  },
)

test.each([
  ["https://keys.example.com/list", true],
  ["http://127.0.0.1:8080/list", true],
  ["http://keys.example.com/list", false],
])("GITHUB_KEYS_URL %s, whose content is trusted, is accepted: %s", (url, accepted) => {
  const given = { ...complete, GITHUB_KEYS_URL: url }
  if (accepted) expect(parseEnv(given).GITHUB_KEYS_URL).toBe(url)
  else expect(problemsOf(given)[1]).toContain("GITHUB_KEYS_URL must start with https://")
})

test("trusted proxies are either a number or a list", () => {
  const list = { ...complete, TRUSTED_PROXIES: "10.0.0.0/8,2001:db8::1" }
  expect(parseEnv({ ...list, TRUSTED_PROXY_HOPS: "0" }).TRUSTED_PROXIES?.check("10.1.2.3")).toBe(true)
  expect(problemsOf({ ...list, TRUSTED_PROXY_HOPS: "1" })[1]).toBe(
    "  TRUSTED_PROXIES set either this or TRUSTED_PROXY_HOPS",
  )
  expect(problemsOf({ ...complete, TRUSTED_PROXIES: "10.0.0.0/8,," })[1]).toContain('TRUSTED_PROXIES contains ""')
})

test("REDIS_URL is one URL or the URLs of several cluster nodes, all with TLS or all without", () => {
  const urlsOf = (value: string) => parseEnv({ ...complete, REDIS_URL: value }).REDIS_URL
  expect(urlsOf("redis://localhost")).toEqual(["redis://localhost"])
  expect(urlsOf("rediss://app:secret@one:7000,rediss://two:7000 , rediss://[::1]:7000")).toEqual([
    "rediss://app:secret@one:7000",
    "rediss://two:7000",
    "rediss://[::1]:7000",
  ])
  for (const value of [
    "localhost:6379",
    "redis://one:port",
    "redis://one,two:7000",
    "redis://one,",
    "redis://one,rediss://two",
  ]) {
    expect(problemsOf({ ...complete, REDIS_URL: value })).toEqual([
      expect.any(String),
      expect.stringMatching(/^ {2}REDIS_URL must be a URL that starts with redis:\/\/ or rediss:\/\/, or several/),
    ])
  }
})

test("DATABASE_REPLICA_URLS is one PostgreSQL URL or several, of other servers than the primary", () => {
  const urlsOf = (value: string) => parseEnv({ ...complete, DATABASE_REPLICA_URLS: value }).DATABASE_REPLICA_URLS
  expect(urlsOf("postgresql://app@one/app")).toEqual(["postgresql://app@one/app"])
  expect(urlsOf("postgresql://app@one/app , postgres://app:a%2Cb@two:5433/app?sslmode=verify-full")).toEqual([
    "postgresql://app@one/app",
    "postgres://app:a%2Cb@two:5433/app?sslmode=verify-full",
  ])
  for (const [value, problem] of [
    ["one:5432", "must be a PostgreSQL URL like DATABASE_URL, or several"],
    ["postgresql://one/app,", "must be a PostgreSQL URL like DATABASE_URL, or several"],
    ["postgresql://one/app,postgresql://app@one/app", "names a server twice"],
    [`postgresql://one/app,${complete.DATABASE_URL}`, "contains DATABASE_URL, which is the primary"],
  ] as const) {
    expect(problemsOf({ ...complete, DATABASE_REPLICA_URLS: value })).toEqual([
      expect.any(String),
      expect.stringContaining(`DATABASE_REPLICA_URLS ${problem}`),
    ])
  }
})

test("more than one process requires a shared rate limit store", () => {
  expect(problemsOf({ ...complete, WEB_CONCURRENCY: "2" })[1]).toMatch(/WEB_CONCURRENCY above 1 requires REDIS_URL/)
  const shared = { ...complete, WEB_CONCURRENCY: "2", REDIS_URL: "redis://localhost" }
  expect(parseEnv(shared).WEB_CONCURRENCY).toBe(2)
  for (const count of ["0", "65", "1.5", "all"]) {
    expect(problemsOf({ ...shared, WEB_CONCURRENCY: count })[1]).toContain("WEB_CONCURRENCY")
  }
})

test.each<[string, boolean]>([
  ["https://app.example.com", true],
  ["http://app.example.com", false],
  ["http://192.168.1.5:3000", false],
  ["http://localhost.example.com", false],
  ["http://localhost:3000", true],
  ["http://127.0.0.1:3000", true],
  ["http://[::1]:3000", true],
])("in production, BASE_URL %s is accepted: %s", (url, accepted) => {
  const given = { ...complete, NODE_ENV: "production", VERIFY_EMAIL: "off", BASE_URL: url }
  if (accepted) expect(parseEnv(given).BASE_URL).toBe(url)
  else expect(problemsOf(given)[1]).toContain("BASE_URL must start with https://")
})

test("production verifies addresses: it requires a mail server, VERIFY_EMAIL=off or the demo", () => {
  const given = { ...complete, NODE_ENV: "production" }
  expect(problemsOf(given)[1]).toMatch(/SMTP_URL is required in production.*VERIFY_EMAIL=off/)
  const mail = { SMTP_URL: "smtp://localhost:25", EMAIL_FROM: "hello@example.com" }
  for (const choice of [mail, { VERIFY_EMAIL: "off" }, { DEMO: "on", BASE_URL: "http://localhost:3000" }]) {
    expect(parseEnv({ ...given, ...choice })).toMatchObject(choice)
  }
})

test("in production the demo is served to this machine only", () => {
  const given = { ...complete, NODE_ENV: "production", VERIFY_EMAIL: "off", DEMO: "on" }
  for (const url of ["http://localhost:3000", "http://127.0.0.1", "http://[::1]:3000", "https://app.localhost"]) {
    expect(parseEnv({ ...given, BASE_URL: url }).DEMO).toBe("on")
  }
  for (const url of ["https://app.example.com", "https://localhost.example.com", "https://192.168.1.5"]) {
    expect(problemsOf({ ...given, BASE_URL: url })[1]).toMatch(/DEMO on requires a BASE_URL on this machine: .*public/)
  }
})

test("BASE_URL is an origin: a trailing slash is removed, a path is refused", () => {
  expect(parseEnv({ ...complete, BASE_URL: "https://app.example.com/" }).BASE_URL).toBe("https://app.example.com")
  expect(problemsOf({ ...complete, BASE_URL: "https://app.example.com/app" })[1]).toContain("BASE_URL")
  expect(problemsOf({ ...complete, BASE_URL: "app.example.com" })[1]).toContain("BASE_URL")
})

test("WELCOME_CREDITS is a whole number from 0 to 1,000,000", () => {
  for (const amount of [0, 1_000_000]) {
    expect(parseEnv({ ...complete, WELCOME_CREDITS: String(amount) }).WELCOME_CREDITS).toBe(amount)
  }
  for (const amount of ["-1", "1000001", "2.5", "many"]) {
    expect(problemsOf({ ...complete, WELCOME_CREDITS: amount })[1]).toContain("WELCOME_CREDITS")
  }
})

test.each(["AUTH_SECRET", "LOG_SECRETS"] as const)(
  "%s is one secret or several, each of at least 32 characters",
  (name) => {
    const [one, other] = ["a".repeat(32), "b".repeat(32)]
    for (const value of [one, `${one},${other}`, `${one} , ${other}`]) {
      expect(parseEnv({ ...complete, [name]: value })[name]).toBe(value)
    }
    for (const value of [
      "a".repeat(31),
      `${one},${"b".repeat(31)}`,
      `${"a".repeat(31)},${other}`,
      `${one},`,
      `,${one}`,
    ]) {
      expect(problemsOf({ ...complete, [name]: value })[1]).toContain(`${name} must have at least 32 characters`)
    }
  },
)

test.each([
  [{ NODE_ENV: "production" }, "required"],
  [{ NODE_ENV: "production", STAFF_MFA: "off" }, "off"],
  [{ NODE_ENV: "production", DEMO: "on", BASE_URL: "http://localhost:3000" }, "off"],
  [{ NODE_ENV: "production", DEMO: "on", BASE_URL: "http://localhost:3000", STAFF_MFA: "required" }, "required"],
  [{ NODE_ENV: "development" }, "off"],
  [{ NODE_ENV: "development", STAFF_MFA: "required" }, "required"],
])("staff need a second factor in production unless it is turned off: %j is %s", (given, expected) => {
  const smtp = { SMTP_URL: "smtp://localhost", EMAIL_FROM: "a@example.com" }
  expect(parseEnv({ ...complete, ...smtp, ...given }).STAFF_MFA).toBe(expected)
})

test("production hashes passwords with at least OWASP's cost, except in the demo", () => {
  const production = { ...complete, NODE_ENV: "production", VERIFY_EMAIL: "off" }
  const demo = { ...production, DEMO: "on", BASE_URL: "http://localhost:3000" }
  expect(problemsOf({ ...production, PASSWORD_HASH_COST: "16" })[1]).toMatch(/PASSWORD_HASH_COST must be 17/)
  for (const given of [
    { ...production, PASSWORD_HASH_COST: "17" },
    { ...demo, PASSWORD_HASH_COST: "10" },
  ]) {
    expect(parseEnv(given).PASSWORD_HASH_COST).toBe(Number(given.PASSWORD_HASH_COST))
  }
  expect(problemsOf({ ...demo, PASSWORD_HASH_COST: "9" })[1]).toContain("PASSWORD_HASH_COST")
})

describe("payments", () => {
  const live = { STRIPE_SECRET_KEY: "sk_live_1", STRIPE_WEBHOOK_SECRET: "whsec_1" }
  const production = { ...complete, NODE_ENV: "production", VERIFY_EMAIL: "off", ...live }
  const standIn = { ...demoPayments, STRIPE_API_URL: "http://127.0.0.1:12111" }

  test.each([
    ["STRIPE_API_URL", "http://127.0.0.1:12111"],
    ["STRIPE_SECRET_KEY", "sk_test_1"],
    ["STRIPE_SECRET_KEY", "rk_test_1"],
    ["STRIPE_SECRET_KEY", demoPayments.STRIPE_SECRET_KEY],
    ["STRIPE_WEBHOOK_SECRET", demoPayments.STRIPE_WEBHOOK_SECRET],
  ])("in production, %s is refused as %s", (name, value) => {
    const [, problem] = problemsOf({ ...production, [name]: value })
    expect(problem).toMatch(new RegExp(`${name} must .*in production`))
  })

  test("in production, keys of live accounts are accepted, and in the demo the stand-in", () => {
    expect(parseEnv(production)).toMatchObject(live)
    expect(parseEnv({ ...production, STRIPE_SECRET_KEY: "rk_live_1" }).STRIPE_SECRET_KEY).toBe("rk_live_1")
    const demo = { ...production, DEMO: "on", BASE_URL: "http://localhost:3000" }
    expect(parseEnv({ ...demo, ...standIn })).toMatchObject(standIn)
    expect(parseEnv({ ...complete, ...standIn })).toMatchObject(standIn)
  })

  test.each([
    ["STRIPE_API_URL", "http://stripe.example.com"],
    ["STRIPE_API_URL", "http://192.168.1.5:12111"],
    ["STRIPE_API_URL", "http://127.0.0.1.example.com"],
    ["STRIPE_API_URL", "ftp://127.0.0.1"],
    ["STRIPE_SECRET_KEY", "pk_live_1"],
    ["STRIPE_WEBHOOK_SECRET", "secret"],
    ["STRIPE_MANAGED_PAYMENTS", "yes"],
  ])("%s is refused as %s everywhere", (name, value) => {
    expect(problemsOf({ ...complete, ...live, [name]: value })[1]).toContain(name)
  })

  test("the key of the stand-in is not sent to Stripe", () => {
    expect(problemsOf({ ...complete, ...demoPayments })[1]).toContain("STRIPE_SECRET_KEY is the stand-in's")
  })
})

test("a message contains no value, which may be a secret", () => {
  const secrets = { DATABASE_URL: "mysql://root:hunter2@db", AUTH_SECRET: "hunter2" }
  expect(problemsOf({ ...complete, ...secrets }).join("\n")).not.toContain("hunter2")
})

test(".env.example lists every variable under a comment, and no others", () => {
  const lines = readFileSync(resolve(import.meta.dirname, "../.env.example"), "utf8").split("\n")
  const names = lines.flatMap((line) => /^([A-Z_0-9]+)=$/.exec(line)?.[1] ?? [])
  // Scripts read two, not the application.
  expect(names.toSorted()).toEqual([...envNames, "MIGRATE_DATABASE_URL", "SEED_USERS"].toSorted())
  for (const name of names) expect(lines[lines.indexOf(`${name}=`) - 1], name).toMatch(/^# \S/)
})

function problemsOf(source: Record<string, string | undefined>): string[] {
  try {
    parseEnv(source)
  } catch (error) {
    if (error instanceof Error) return error.message.split("\n")
  }
  throw new Error("parseEnv accepted it")
}
