import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { type Browser, type BrowserContext, test as base, expect, type Page } from "@playwright/test"
import pg from "pg"
import type { Role } from "@/lib/permissions"
import { demoAccounts, demoKey, demoPassword } from "@/prisma/demo-accounts"

type Cookies = Awaited<ReturnType<BrowserContext["cookies"]>>

export type Account = { email: string; password: string; cookies: Cookies }

type ForEachTest = {
  /** Signs the page's browser in as the demo account of a role. */
  signInAs: (role: Role) => Promise<void>
  /** Creates a new account and signs the page's browser in to it. */
  signUp: () => Promise<Account>
  /** Fails a test if a page violates its Content-Security-Policy. */
  policy: undefined
}

type ForEachWorker = {
  database: pg.Client
  /** An account that the tests of a worker share; tests must not change it. */
  customer: Account
  demoSession: (role: Role) => Promise<Cookies>
}

/** Sign-ins and sign-ups are rate-limited and hash passwords slowly, so each worker signs in only once per role. */
export const test = base.extend<ForEachTest, ForEachWorker>({
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
    async ({ browser }, use, { project }) => {
      await use(await newAccount(browser, String(project.use.baseURL)))
    },
    { scope: "worker" },
  ],
  demoSession: [
    async ({ browser }, use, { project }) => {
      const sessions = new Map<Role, Promise<Cookies>>()
      await use((role) => {
        const session = sessions.get(role) ?? demoCookies(browser, String(project.use.baseURL), role)
        sessions.set(role, session)
        return session
      })
    },
    { scope: "worker" },
  ],
  policy: [
    async ({ context }, use) => {
      const refused: string[] = []
      context.on("console", (message) => {
        if (message.text().includes("Content Security Policy")) refused.push(message.text())
      })
      await use(undefined)
      expect(refused).toEqual([])
    },
    { auto: true },
  ],
  signInAs: async ({ context, demoSession }, use) => {
    await use(async (role) => context.addCookies(await demoSession(role)))
  },
  signUp: async ({ browser, context, baseURL }, use) => {
    await use(async () => {
      const account = await newAccount(browser, String(baseURL))
      await context.addCookies(account.cookies)
      return account
    })
  },
})

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

async function newAccount(browser: Browser, baseURL: string): Promise<Account> {
  const email = uniqueEmail()
  const password = `password of ${email}`
  const cookies = await throughForm(browser, baseURL, async (page) => {
    await page.goto("/sign-up")
    await page.getByLabel("Name").fill("Nova Newcomer")
    await page.getByLabel("Email").fill(email)
    await page.getByLabel("Password").fill(password)
    await page.getByRole("button", { name: "Create account" }).click()
  })
  return { email, password, cookies }
}

function demoCookies(browser: Browser, baseURL: string, role: Role): Promise<Cookies> {
  return throughForm(browser, baseURL, async (page) => {
    await page.goto("/sign-in")
    await page.getByLabel("Email").fill(`${role}@example.com`)
    await page.getByLabel("Password").fill(demoPassword)
    await page.getByRole("button", { name: "Sign in" }).click()
  })
}

async function throughForm(browser: Browser, baseURL: string, send: (page: Page) => Promise<void>): Promise<Cookies> {
  const context = await browser.newContext({ baseURL, javaScriptEnabled: false })
  const page = await context.newPage()
  await send(page)
  await page.waitForURL("**/api-keys")
  const cookies = await context.cookies()
  await context.close()
  return cookies
}
