import { randomBytes, randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { type BrowserContext, test as base, expect, type Page } from "@playwright/test"
import { encode } from "next-auth/jwt"
import pg from "pg"
import type { Role } from "@/lib/permissions"
import { demoAccounts, demoKey } from "@/lib/process/demo-accounts"
import { product } from "@/lib/product"

type Cookies = Parameters<BrowserContext["addCookies"]>[0]

export type Account = { id: string; email: string; password: string; cookies: Cookies }

type Options = {
  /** For tests with clocks, passkeys or scripts that run before the page's: they need their own browser context. */
  ownContext: boolean
}

type ForEachTest = {
  /** Signs the page's browser in as the demo account of a role. */
  signInAs: (role: Role) => Promise<void>
  /** Creates an account and signs the page's browser in to it. */
  signUp: (row?: AccountRow) => Promise<Account>
  /** Fails a test if a page violates its Content-Security-Policy. */
  policy: undefined
}

type ForEachWorker = {
  database: pg.Client
  /** An account that the tests of a worker share; tests must not change it. */
  customer: Account
  /** The pages that tests share, with and without JavaScript: a new page starts a process and compiles every script. */
  sharedPages: Map<boolean | undefined, Page>
}

export const test = base.extend<Options & ForEachTest, ForEachWorker>({
  ownContext: [false, { option: true }],
  database: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names of the fixtures from this pattern
    async ({}, use) => {
      const client = new pg.Client(readFileSync(String(process.env.E2E_DATABASE_FILE), "utf8"))
      await client.connect()
      await use(client)
      await client.end()
    },
    { scope: "worker" },
  ],
  customer: [
    async ({ database }, use) => {
      await use(await createAccount(database))
    },
    { scope: "worker" },
  ],
  sharedPages: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names of the fixtures from this pattern
    async ({}, use) => use(new Map()),
    { scope: "worker" },
  ],
  context: async (
    { browser, sharedPages, ownContext, javaScriptEnabled, hasTouch, permissions, extraHTTPHeaders },
    use,
  ) => {
    if (ownContext || hasTouch || permissions) {
      const context = await browser.newContext()
      await use(context)
      return context.close()
    }
    const page = sharedPages.get(javaScriptEnabled) ?? (await (await browser.newContext()).newPage())
    const context = page.context()
    sharedPages.set(javaScriptEnabled, page)
    await context.setExtraHTTPHeaders(extraHTTPHeaders ?? {})
    await use(context)
    await Promise.all(context.pages().map((other) => other !== page && other.close()))
    for (const event of ["load", "request", "console", "dialog"]) page.removeAllListeners(event)
    await page.unrouteAll({ behavior: "ignoreErrors" })
    await page.goto("about:blank")
    await page.emulateMedia({ colorScheme: null, media: null })
    await context.clearCookies()
    await context.clearPermissions()
  },
  page: async ({ context, viewport }, use) => {
    const page = context.pages()[0] ?? (await context.newPage())
    if (viewport) await page.setViewportSize(viewport)
    await use(page)
  },
  policy: [
    async ({ context }, use) => {
      const refused: string[] = []
      const listen = (message: { text: () => string }) => {
        if (message.text().includes("Content Security Policy")) refused.push(message.text())
      }
      context.on("console", listen)
      await use(undefined)
      context.off("console", listen)
      expect(refused).toEqual([])
    },
    { auto: true },
  ],
  // Each test has its own address, so that tests do not share limits.
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names of the fixtures from this pattern
  extraHTTPHeaders: async ({}, use) => {
    await use({ "X-Forwarded-For": [10, ...randomBytes(3)].join(".") })
  },
  signInAs: async ({ context, database }, use) => {
    await use(async (role) => {
      const { rows } = await database.query("SELECT id FROM users WHERE email = $1", [`${role}@example.com`])
      await context.addCookies(await startSession(database, rows[0].id))
    })
  },
  signUp: async ({ context, database }, use) => {
    await use(async (row) => {
      const account = await createAccount(database, row)
      await context.addCookies(account.cookies)
      return account
    })
  },
})

/** The message of a sign-in with a wrong password or an unknown address. */
export const incorrect = "Incorrect email address or password. If you have just signed up, confirm your address first."

/** The API key of the demo account with the role. */
export function keyOf(role: Role): string {
  const account = demoAccounts.find((account) => account.role === role)
  if (!account) throw new Error(`There is no demo account with the role ${role}.`)
  return demoKey(account)
}

export function uniqueName(prefix: string): string {
  return `${prefix} ${randomUUID().slice(0, 8)}`
}

export function uniqueEmail(): string {
  return `e2e-${randomUUID()}@example.com`
}

const password = "correct horse battery staple"
// With a low cost, so that tests sign in fast.
const passwordHash = "scrypt$1024$8$1$-eEuIoCiYPXcAK1WzSRogA$2A43jGOio7vH5yFTAmBoT_jkqZE5nz2LfiN2FKItcck"

type AccountRow = { email?: string; name?: string; role?: Role; credits?: number }

/** An account as after a sign-up, with welcome credits and a session. Tests of sign-ups use the form. */
export async function createAccount(
  database: pg.Client,
  { email = uniqueEmail(), name = "Nova Newcomer", role = "member", credits = 100 }: AccountRow = {},
): Promise<Account> {
  const id = randomUUID()
  await database.query(
    "INSERT INTO users (id, email, name, role, password_hash, email_verified) VALUES ($1, $2, $3, $4, $5, now())",
    [id, email, name, role, passwordHash],
  )
  await database.query("INSERT INTO credit_accounts (user_id) VALUES ($1)", [id])
  if (credits > 0) {
    await database.query(
      `WITH account AS (UPDATE credit_accounts SET balance = $2, granted = $2, seq = 1 WHERE user_id = $1)
       INSERT INTO credit_entries (id, user_id, seq, kind, amount, balance_after, reason)
       VALUES (gen_random_uuid(), $1, 1, 'grant', $2, $2, 'Welcome credits')`,
      [id, credits],
    )
  }
  return { id, email, password, cookies: await startSession(database, id) }
}

/** The cookies of a browser that has just signed in to the account by its password. */
export async function startSession(database: pg.Client, userId: string): Promise<Cookies> {
  const [id, provedAt] = [randomUUID(), new Date()]
  await database.query(
    `INSERT INTO sessions (id, user_id, via, address, browser, proved_at)
     VALUES ($1, $2, 'password', '192.0.2.1', 'Firefox on Linux', $3)`,
    [id, userId, provedAt],
  )
  const token = { sub: userId, sid: id, proved: provedAt.getTime() }
  const value = await encode({ token, secret: String(process.env.E2E_AUTH_SECRET) })
  return [{ name: `${product.slug}.session`, value, url: `http://localhost:${process.env.E2E_PORT}`, httpOnly: true }]
}
