import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import type { Pool } from "pg"
import { cookieName } from "@/lib/platform/http/cookies"
import { isDatabaseUnavailable } from "@/lib/platform/postgres/failures"
import type { Random } from "@/prisma/random"
import { reportViolation } from "@/tests/load/chaos-checks"
import type { Accounts } from "@/tests/load/chaos-clients"
import { builtActions, callAction, type RawResponse, sessionOf } from "@/tests/support/client"
import { exchange } from "@/tests/support/exchange"
import { createUser } from "@/tests/support/factories"

type Key = { id: string; secret: string }
type Fields = Readonly<Record<string, string>>

/** People who use forms, whose acknowledged changes must be there from then on. */
export async function createPeople(random: Random, accounts: Accounts, addresses: [string, ...string[]]) {
  const actions = await builtActions()
  const owner = await createUser({ role: "owner" })
  const live: Key[] = []
  const revoked: Key[] = []
  const emails: string[] = []
  let grants = 0

  /** @returns undefined without an acknowledgement: it is unknown whether the form acted */
  async function submit(name: string, path: string, fields: Fields, headers = {}): Promise<RawResponse | undefined> {
    const action = actions.find((action) => action.name === name)
    if (!action) throw new Error(`There is no action ${name}.`)
    const sent = { path, fields, headers }
    const response = await callAction({ address: random.pick(addresses) }, action, sent).catch(() => undefined)
    const isSignedIn = response?.cookies.some((cookie) => cookie.startsWith(`${cookieName("session")}=ey`))
    return response && (isSignedIn || /"ok":true/.test(response.text)) ? response : undefined
  }

  /** Another status than these two is a violation; 503 and 429 say nothing about the key. */
  async function check(key: Key, expected: 200 | 401): Promise<void> {
    const headers = { "x-api-key": key.secret }
    const response = await exchange(`${random.pick(addresses)}/api/v1/me`, { headers })
    if (!response || response.status === 503 || response.status === 429 || response.status === expected) return
    reportViolation(`A key that should return ${expected} returned ${response.status}: ${key.id}`)
  }

  async function grant(): Promise<void> {
    const account = random.pick(accounts)
    const amount = random.between(1, 100)
    const fields = { id: account.id, requestId: randomUUID(), amount: String(amount), reason: "Top-up" }
    // A new session has a fresh proof of identity.
    const staff = { cookie: await sessionOf(owner) }
    // Idempotent, so it is repeated until it is acknowledged.
    const since = performance.now()
    while (!(await submit("admin/users/[id] grant", `/admin/users/${account.id}`, fields, staff))) {
      if (performance.now() - since > 60_000) throw new Error("A grant is not acknowledged.")
      await sleep(200)
    }
    account.granted += amount
    grants++
  }

  async function register(): Promise<void> {
    const email = `${randomUUID()}@example.com`
    const fields = { name: "New", email, password: "correct horse battery staple", callbackUrl: "" }
    if (await submit("sign-up createAccount", "/sign-up", fields)) emails.push(email)
  }

  /** A new account has a few keys; every second one is revoked. */
  async function manageKeys(): Promise<void> {
    const headers = { cookie: await sessionOf(await createUser()) }
    for (let count = 0; count < 4; count++) {
      const fields = { requestId: randomUUID(), name: "New", expires: "never", date: "", scopes: "read" }
      const created = await submit("api-keys createUserKey", "/api-keys", fields, headers)
      const [, id = "", secret = ""] = /"id":"([^"]+)","secret":"([^"]+)"/.exec(created?.text ?? "") ?? []
      if (!secret) continue
      const key = { id, secret }
      await check(key, 200)
      if (count % 2 === 0) {
        live.push(key)
        continue
      }
      if (!(await submit("api-keys revokeUserKey", "/api-keys", { id, reason: "leaked" }, headers))) continue
      revoked.push(key)
      // On the next request, to any server.
      await Promise.all([check(key, 401), check(key, 401)])
    }
    for (let read = 0; read < 4; read++) {
      if (revoked.length > 0) await check(random.pick(revoked as [Key, ...Key[]]), 401)
      if (live.length > 0) await check(random.pick(live as [Key, ...Key[]]), 200)
    }
  }

  return {
    counts: () => ({ grants, registrations: emails.length, keys: live.length, revoked: revoked.length }),
    /** Repeats everything, a little at a time, until `goesOn` is false. */
    async act(goesOn: () => boolean): Promise<void> {
      const acts = [grant, register, manageKeys]
      await Promise.all(
        acts.map(async (act) => {
          while (goesOn()) {
            // The test's own connection is lost as well.
            await act().catch((error: unknown) => {
              if (!isDatabaseUnavailable(error)) reportViolation(String(error))
            })
            await sleep(100)
          }
        }),
      )
    },
    /** Acknowledged changes that the database does not have. */
    async missing(database: Pool): Promise<string[]> {
      const { rows: accounts } = await database.query("SELECT email FROM users WHERE email = ANY ($1)", [emails])
      const { rows: keys } = await database.query(
        `SELECT id, revoked_at IS NOT NULL AS revoked FROM api_keys WHERE id = ANY ($1::uuid[])`,
        [[...live, ...revoked].map(({ id }) => id)],
      )
      const found = new Set(accounts.map(({ email }) => email))
      const states = new Map<string, boolean>(keys.map(({ id, revoked }) => [id, revoked]))
      return [
        ...emails.filter((email) => !found.has(email)).map((email) => `account ${email} is lost`),
        ...live.filter(({ id }) => states.get(id) !== false).map(({ id }) => `key ${id} is lost`),
        ...revoked.filter(({ id }) => states.get(id) !== true).map(({ id }) => `the revocation of key ${id} is lost`),
      ]
    },
  }
}

export type People = Awaited<ReturnType<typeof createPeople>>
