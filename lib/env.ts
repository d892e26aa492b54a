import { BlockList, isIPv4 } from "node:net"
import { z } from "zod"
import { singleton } from "@/lib/singleton"

const optional = z.string().min(1).optional()

/** The exponent of N in scrypt: 17 is OWASP's minimum; demos and tests may hash for less. */
const passwordHashCost = z.coerce.number().int().min(10).max(17).default(17)

/** The stand-in of Stripe in demos and tests has these, which are public. */
export const demoPayments = { STRIPE_SECRET_KEY: "sk_test_stand_in", STRIPE_WEBHOOK_SECRET: "whsec_stand_in" }

function secrets(error?: string) {
  return z
    .string({ error })
    .refine(
      (value) => secretsIn(value).every((secret) => secret.length >= 32),
      "must have at least 32 characters, and so must each of several secrets, which a comma separates",
    )
}

const schema = z
  .object({
    NODE_ENV: z.enum(["development", "test", "production"]).default("development"),
    DATABASE_URL: z
      .string({ error: "is required: a PostgreSQL URL, postgresql://user:password@host:5432/database" })
      .regex(/^postgres(ql)?:\/\//, "must start with postgresql://"),
    DATABASE_REPLICA_URLS: z
      .string()
      .transform((value) => value.split(/ *, */))
      .refine(
        (urls) => urls.every((url) => /^postgres(ql)?:\/\//.test(url) && URL.canParse(url)),
        "must be a PostgreSQL URL like DATABASE_URL, or several, which a comma separates",
      )
      .refine(
        (urls) => new Set(urls.map((url) => URL.canParse(url) && new URL(url).host)).size === urls.length,
        "names a server twice",
      )
      .optional(),
    DATABASE_POOL_MAX: z.coerce.number().int().min(1).max(500).default(10),
    DATABASE_WAIT_MS: z.coerce.number().int().min(1_500).max(60_000).default(2_400),
    LOOP_DELAY_MS: z.coerce.number().int().min(1).max(60_000).optional(),
    DATABASE_PREPARE: z.enum(["on", "off"]).default("on"),
    AUTH_SECRET: secrets("is required: at least 32 random characters, for example from `openssl rand -base64 32`"),
    LOG_SECRETS: secrets().optional(),
    BASE_URL: z
      .url({ protocol: /^https?$/, error: "is required: the public URL, like https://app.example.com" })
      .refine((value) => !URL.canParse(value) || new URL(value).pathname === "/", "must not have a path")
      .transform((value) => new URL(value).origin),
    REDIS_URL: z
      .string()
      .transform((value) => value.split(/ *, */))
      .refine(
        (urls) =>
          ["redis://", "rediss://"].some((start) => urls.every((url) => url.startsWith(start) && URL.canParse(url))),
        "must be a URL that starts with redis:// or rediss://, or several of one kind, which a comma separates: nodes of a Redis Cluster",
      )
      .optional(),
    REDIS_TIMEOUT_MS: z.coerce.number().int().min(50).max(10_000).default(250),
    UPSTASH_REDIS_REST_URL: z.url({ protocol: /^https?$/ }).optional(),
    UPSTASH_REDIS_REST_TOKEN: optional,
    SMTP_URL: z
      .string()
      .regex(/^smtps?:\/\//, "must start with smtp:// or smtps://")
      .optional(),
    EMAIL_FROM: optional,
    VERIFY_EMAIL: z.enum(["on", "off"]).default("on"),
    DEMO: z.enum(["on", "off"]).default("off"),
    PASSWORD_HASH_COST: passwordHashCost,
    STAFF_MFA: z.enum(["required", "off"]).optional(),
    TRUSTED_PROXY_HOPS: z.coerce.number().int().min(0).max(10).default(0),
    TRUSTED_PROXIES: z.string().transform(parseNetworks).optional(),
    PORT: z.coerce.number().int().min(1).max(65_535).default(3000),
    HOST: optional,
    WEB_CONCURRENCY: z.coerce.number().int().min(1).max(64).default(1),
    REQUEST_LOG_DAYS: z.coerce.number().int().min(0).max(400).default(30),
    SWEEPER: z.enum(["on", "off"]).default("on"),
    LOG_LEVEL: z.enum(["info", "warn", "error", "silent"]).default("info"),
    METRICS_TOKEN: z.string().min(16, "must have at least 16 characters").optional(),
    OTEL_EXPORTER_OTLP_ENDPOINT: z.url({ protocol: /^https?$/ }).optional(),
    WELCOME_CREDITS: z.coerce.number().int().min(0).max(1_000_000).default(100),
    GITHUB_KEYS_URL: z
      .url({ protocol: /^https?$/ })
      .refine((url) => url.startsWith("https:") || isLoopbackUrl(url), "must start with https://")
      .default("https://api.github.com/meta/public_keys/secret_scanning"),
    GITHUB_CLIENT_ID: optional,
    GITHUB_CLIENT_SECRET: optional,
    GOOGLE_CLIENT_ID: optional,
    GOOGLE_CLIENT_SECRET: optional,
    STRIPE_SECRET_KEY: z
      .string()
      .regex(/^(sk|rk)_(live|test)_\w+$/, "must start with sk_live_, rk_live_, sk_test_ or rk_test_")
      .optional(),
    STRIPE_WEBHOOK_SECRET: z.string().startsWith("whsec_", "must start with whsec_").optional(),
    STRIPE_API_URL: z
      .url({ protocol: /^http$/, error: "must start with http://" })
      .refine((value) => isLoopbackUrl(value), "must be on this machine")
      .transform((value) => new URL(value).origin)
      .optional(),
    STRIPE_MANAGED_PAYMENTS: z.enum(["on", "off"]).default("off"),
  })
  .superRefine((value, context) => {
    const together = [
      ["UPSTASH_REDIS_REST_URL", "UPSTASH_REDIS_REST_TOKEN"],
      ["SMTP_URL", "EMAIL_FROM"],
      ["GITHUB_CLIENT_ID", "GITHUB_CLIENT_SECRET"],
      ["GOOGLE_CLIENT_ID", "GOOGLE_CLIENT_SECRET"],
      ["STRIPE_SECRET_KEY", "STRIPE_WEBHOOK_SECRET"],
    ] as const
    for (const [one, other] of together) {
      if ((value[one] === undefined) === (value[other] === undefined)) continue
      const missing = value[one] === undefined ? one : other
      context.addIssue({
        code: "custom",
        path: [missing],
        message: `is required when ${missing === one ? other : one} is set`,
      })
    }
    if (value.NODE_ENV === "production" && value.BASE_URL.startsWith("http:") && !isLoopbackUrl(value.BASE_URL)) {
      const message = "must start with https:// in production: cookies and keys would cross the network unencrypted"
      context.addIssue({ code: "custom", path: ["BASE_URL"], message })
    }
    if (value.NODE_ENV === "production" && value.DEMO === "on" && !isLoopbackUrl(value.BASE_URL)) {
      const message = "on requires a BASE_URL on this machine: the demo's password, keys and emails are public"
      context.addIssue({ code: "custom", path: ["DEMO"], message })
    }
    if (value.NODE_ENV === "production" && value.VERIFY_EMAIL === "on" && !value.SMTP_URL && value.DEMO === "off") {
      const message =
        "is required in production: sign-up sends a link that verifies the address. VERIFY_EMAIL=off accepts every address unverified"
      context.addIssue({ code: "custom", path: ["SMTP_URL"], message })
    }
    if (value.NODE_ENV === "production" && value.PASSWORD_HASH_COST < 17 && value.DEMO === "off") {
      const message = "must be 17 in production: passwords with cheaper hashes are guessed from a leaked database"
      context.addIssue({ code: "custom", path: ["PASSWORD_HASH_COST"], message })
    }
    if (value.NODE_ENV === "production" && value.DEMO === "off") {
      if (value.STRIPE_API_URL) {
        const message = "must be absent in production: payments of a stand-in are not paid"
        context.addIssue({ code: "custom", path: ["STRIPE_API_URL"], message })
      }
      if (/^.k_test_/.test(value.STRIPE_SECRET_KEY ?? "")) {
        const message = "must start with sk_live_ or rk_live_ in production: cards of tests would buy credits"
        context.addIssue({ code: "custom", path: ["STRIPE_SECRET_KEY"], message })
      }
      if (value.STRIPE_WEBHOOK_SECRET === demoPayments.STRIPE_WEBHOOK_SECRET) {
        const message = "must not be the demo's in production: it is public, and everyone could sign events"
        context.addIssue({ code: "custom", path: ["STRIPE_WEBHOOK_SECRET"], message })
      }
    }
    if (
      value.STRIPE_SECRET_KEY &&
      !value.STRIPE_API_URL &&
      value.STRIPE_SECRET_KEY === demoPayments.STRIPE_SECRET_KEY
    ) {
      const message = "is the stand-in's, and requires STRIPE_API_URL"
      context.addIssue({ code: "custom", path: ["STRIPE_SECRET_KEY"], message })
    }
    if (value.DATABASE_REPLICA_URLS?.includes(value.DATABASE_URL)) {
      const message = "contains DATABASE_URL, which is the primary"
      context.addIssue({ code: "custom", path: ["DATABASE_REPLICA_URLS"], message })
    }
    if (value.REDIS_URL && value.UPSTASH_REDIS_REST_URL) {
      context.addIssue({ code: "custom", path: ["REDIS_URL"], message: "set either this or UPSTASH_REDIS_REST_URL" })
    }
    if (value.TRUSTED_PROXIES && value.TRUSTED_PROXY_HOPS > 0) {
      context.addIssue({ code: "custom", path: ["TRUSTED_PROXIES"], message: "set either this or TRUSTED_PROXY_HOPS" })
    }
    if (value.WEB_CONCURRENCY > 1 && !value.REDIS_URL && !value.UPSTASH_REDIS_REST_URL) {
      const message =
        "above 1 requires REDIS_URL or UPSTASH_REDIS_REST_URL: otherwise each process counts its own requests, which multiplies the limit of a key"
      context.addIssue({ code: "custom", path: ["WEB_CONCURRENCY"], message })
    }
  })
  .transform(({ STAFF_MFA, LOOP_DELAY_MS, ...value }) => {
    const isOpen = value.NODE_ENV !== "production" || value.DEMO === "on"
    return {
      ...value,
      STAFF_MFA: STAFF_MFA ?? (isOpen ? ("off" as const) : ("required" as const)),
      // The development server compiles pages between the turns of its event loop, and a demo is alone on its machine.
      LOOP_DELAY_MS: LOOP_DELAY_MS ?? (isOpen ? 60_000 : 60),
    }
  })

export function secretsIn(value: string): string[] {
  return value.split(/ *, */)
}

function parseNetworks(value: string, context: z.RefinementCtx): BlockList {
  const networks = new BlockList()
  for (const entry of value.split(",").map((part) => part.trim())) {
    const [, address = "", prefix] = /^([^/]+)(?:\/(\d+))?$/.exec(entry) ?? []
    const family = isIPv4(address) ? "ipv4" : "ipv6"
    try {
      if (prefix === undefined) networks.addAddress(address, family)
      else networks.addSubnet(address, Number(prefix), family)
    } catch {
      const message = `contains ${JSON.stringify(entry)}, which is neither an address nor a CIDR such as 10.0.0.0/8 or 2001:db8::/32`
      context.addIssue({ code: "custom", message })
    }
  }
  return networks
}

export type Env = z.infer<typeof schema>

/** A test compares .env.example with them. */
export const envNames = Object.keys(schema.in.shape)

/** An empty value counts as absent. @throws Error with one line per problem, for the operator */
export function parseEnv(source: Record<string, string | undefined>): Env {
  const present = Object.fromEntries(Object.entries(source).filter(([, value]) => value !== ""))
  const parsed = schema.safeParse(present)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map((issue) => `  ${issue.path.join(".")} ${issue.message}`)
  throw new Error(`The environment is invalid (see .env.example):\n${problems.join("\n")}`)
}

/** Parsed on first use and not on import, because `next build` imports every module without an environment. */
export function env(): Env {
  return singleton("env", () => parseEnv(process.env))
}

/** Commands hash passwords without the rest of the configuration. */
export function readPasswordHashCost(): number {
  return passwordHashCost.parse(process.env.PASSWORD_HASH_COST || undefined)
}

export function checkEnvironment(): void {
  try {
    env()
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exit(1)
  }
}

export function isLoopback(host: string): boolean {
  return /^(localhost|[\w.-]+\.localhost|(::ffff:)?127\.\d+\.\d+\.\d+|\[?::1\]?)$/.test(host)
}

export function isLoopbackUrl(url: string): boolean {
  return URL.canParse(url) && isLoopback(new URL(url).hostname)
}
