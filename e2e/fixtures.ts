import { randomBytes, randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { type APIRequestContext, type BrowserContext, test as base, expect, request } from "@playwright/test"
import pg from "pg"
import { demoAccounts, demoKey, demoPassword } from "@/lib/demo-accounts"
import type { Role } from "@/lib/permissions"
import { readForms } from "@/tests/support/forms"
import { verificationTokenIn } from "@/tests/support/mail-server"
import { emailTo } from "./mail"

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

/** Sign-ins and sign-ups are rate-limited and hash passwords slowly, so each worker signs in once per role for a while. */
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
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names of the fixtures from this pattern
    async ({}, use, { project }) => {
      await use(await newAccount(String(project.use.baseURL)))
    },
    { scope: "worker" },
  ],
  demoSession: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names of the fixtures from this pattern
    async ({}, use, { project }) => {
      const sessions = new Map<Role, { cookies: Promise<Cookies>; startedAt: number }>()
      await use((role) => {
        const last = sessions.get(role)
        // Forms that need a fresh proof of who is at the browser do not ask for one: fresh-proof.spec.ts is about that.
        if (last && Date.now() - last.startedAt < 5 * 60_000) return last.cookies
        const cookies = demoCookies(String(project.use.baseURL), role)
        sessions.set(role, { cookies, startedAt: Date.now() })
        return cookies
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
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names of the fixtures from this pattern
  extraHTTPHeaders: async ({}, use) => {
    await use(ownAddress())
  },
  signInAs: async ({ context, demoSession }, use) => {
    await use(async (role) => context.addCookies(await demoSession(role)))
  },
  signUp: async ({ context, baseURL }, use) => {
    await use(async () => {
      const account = await newAccount(String(baseURL))
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

async function newAccount(baseURL: string): Promise<Account> {
  const email = uniqueEmail()
  const password = `password of ${email}`
  const client = await browserless(baseURL)
  const signedUp = await submit(client, "/sign-up", { name: "Nova Newcomer", email, password })
  expect(signedUp.url()).toMatch(/\/verify$/)
  const verified = await submit(client, `/verify/${verificationTokenIn(await emailTo(email, "/verify/"))}`)
  expect(verified.url()).toMatch(/\/account$/)
  return { email, password, cookies: await cookiesOf(client) }
}

function demoCookies(baseURL: string, role: Role): Promise<Cookies> {
  return sessionCookies(baseURL, `${role}@example.com`, demoPassword)
}

/** The header of a client whose attempts count against no limits of another one's address. */
function ownAddress(): Record<string, string> {
  return { "X-Forwarded-For": [10, ...randomBytes(3)].join(".") }
}

/** A client that submits forms as a browser does. */
function browserless(baseURL: string): Promise<APIRequestContext> {
  return request.newContext({ baseURL, extraHTTPHeaders: { Origin: new URL(baseURL).origin, ...ownAddress() } })
}

/** The cookies of another browser that signs in. */
export async function sessionCookies(baseURL: string, email: string, password: string): Promise<Cookies> {
  const client = await browserless(baseURL)
  expect((await submit(client, "/sign-in", { email, password })).url()).toMatch(/\/(account|admin(\/.*)?)$/)
  return cookiesOf(client)
}

/** Submits the first form of a page as a browser without JavaScript does it, which costs far less than one. */
async function submit(client: APIRequestContext, path: string, fields: Record<string, string> = {}) {
  const [form] = readForms(await (await client.get(path)).text())
  return client.post(path, { multipart: { ...form, ...fields } })
}

async function cookiesOf(client: APIRequestContext): Promise<Cookies> {
  const { cookies } = await client.storageState()
  await client.dispose()
  return cookies
}
