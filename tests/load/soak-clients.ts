import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { keyPattern } from "@/lib/keys/secret"
import type { Random } from "@/prisma/random"
import { sessionOf } from "@/tests/support/client"
import { type Exchange, exchange } from "@/tests/support/exchange"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { readForms } from "@/tests/support/forms"
import { longerBody, work } from "@/tests/support/work"
import type { Charged } from "./chaos-checks"
import type { Account } from "./chaos-clients"

// The mix of requests that customers and operators send, and the responses that they must receive.

/** Each kind of action and its share in percent. */
const weights = {
  "read of the user API": 38,
  "read of the admin API": 14,
  "run with Idempotency-Key": 16,
  "run without Idempotency-Key": 5,
  "run sent again": 6,
  "page of the user area": 8,
  "page of the console": 5,
  "refused request": 6,
  "key created and revoked": 1,
  "credits granted": 1,
} as const

export type Kind = keyof typeof weights

export const kinds = Object.keys(weights) as Kind[]

type Customer = Account & { email: string; session: string; keyId: string }

type Operator = { id: string; email: string; session: string; keys: [string] }

type Call = Charged & { account: Account }

/** An acknowledged run that was sent without an Idempotency-Key, so it cannot be replayed. */
type KeylessRun = { runId: string; body: string }

/** When a response arrived and how long it took; `status` is undefined if none arrived. */
type Timing = { at: number; ms: number; status: number | undefined; excused: boolean }

/** Returns the error in a response, or undefined if it is correct. */
type Check = (response: Exchange) => string | undefined

/** The name under which unavailability without a fault is counted. */
export const unexcused = "503 or 500 while nothing was broken"

/** @param keys the number of keys on both surfaces: four of five belong to customers, the rest to operators */
export async function createLoadAccounts(keys: number) {
  const customers: Customer[] = []
  const operators: Operator[] = []
  for (let made = 0; made < keys; made++) {
    const isOperator = made % 5 === 4
    const user = await createUser(isOperator ? { role: "owner" } : {})
    const { secret, key } = await createKey({ user, surface: isOperator ? "admin" : "user" })
    // Grants need a fresh proof: this one stays fresh until the end.
    const session = await sessionOf(user, { provedAt: new Date(Date.now() + 3_600_000) })
    const common = { id: user.id, email: user.email, session, keys: [secret] as [string] }
    if (isOperator) operators.push(common)
    else {
      await grantCredits(user.id, 100_000)
      customers.push({ ...common, granted: 100_000, keyId: key.id })
    }
  }
  return { customers, operators }
}

export type LoadAccounts = Awaited<ReturnType<typeof createLoadAccounts>>

/**
 * @param isExcused whether a fault was active at any time since then, so that a response may be 503
 * @param onViolation called with each response that no client may ever receive
 */
export function createTraffic({
  random,
  accounts: { customers, operators },
  address,
  isExcused,
  onViolation,
}: {
  random: Random
  accounts: LoadAccounts
  address: string
  isExcused: (since: number) => boolean
  onViolation: (text: string) => void
}) {
  const calls: Call[] = []
  const keylessRuns: KeylessRun[] = []
  const responses = new Map<Kind, Timing[]>(kinds.map((kind) => [kind, []]))
  const counts = new Map<string, number>()
  /** The times at which each key was used in the last two minutes. */
  const uses = new Map<string, number[]>()
  // Every second customer never sends an Idempotency-Key: their charges are known only from responses.
  const keyed = customers.filter((_, index) => index % 2 === 0)
  const keyless = customers.filter((_, index) => index % 2 === 1)
  const idle = [...customers]

  function pick<Item>(items: readonly Item[]): Item {
    return items[random.between(0, items.length - 1)] as Item
  }

  /** Every account has its own address. */
  const senders = new Map<string, number>()
  function addressOf(sender: string): string {
    const number = senders.get(sender) ?? senders.size
    senders.set(sender, number)
    return `10.0.${number >> 8}.${number & 255}`
  }

  /** Records a use of a key, to check that a key is never limited below 300 requests a minute. */
  function recordUse(secret: string): void {
    const now = Date.now()
    const recent = (uses.get(secret) ?? []).filter((time) => time > now - 120_000)
    uses.set(secret, [...recent, now])
  }

  /** Sends a request and checks the response. @returns the response if it is correct and final */
  async function send(
    kind: Kind,
    path: string,
    sent: Parameters<typeof exchange>[1],
    check: Check,
  ): Promise<Exchange | undefined> {
    const since = Date.now()
    const secret = sent.headers?.["x-api-key"]
    if (secret) recordUse(secret)
    const headers = { ...sent.headers, "x-forwarded-for": addressOf(sent.headers?.cookie ?? secret ?? "") }
    const response = await exchange(address + path, { ...sent, headers }, 60_000)
    const excused = isExcused(since)
    const at = Date.now()
    responses.get(kind)?.push({ at, ms: at - since, status: response?.status, excused })
    const status = String(response?.status ?? "none")
    counts.set(status, (counts.get(status) ?? 0) + 1)
    const problem = findProblem(response, check, secret, excused)
    if (problem === "retryable") return undefined
    if (problem) onViolation(`${kind}, ${sent.method ?? "GET"} ${path}: ${problem}`)
    return problem ? undefined : response
  }

  function findProblem(response: Exchange | undefined, check: Check, secret: string | undefined, excused: boolean) {
    if (!response) return "no response"
    const isPage = !response.headers["content-type"]?.startsWith("application/json")
    const isRefusedForm = isPage && response.body.includes("The service is unavailable right now")
    if (response.status === 503 || (isPage && response.status === 500) || isRefusedForm) {
      // A machine that is busy with other work may return 503 without a fault.
      if (!excused) counts.set(unexcused, (counts.get(unexcused) ?? 0) + 1)
      return isPage ? "retryable" : (envelope(503, "service_unavailable")(response) ?? "retryable")
    }
    // Pages that wait for a dependency take the turns of their address.
    if (response.status === 429 && isPage && excused) return "retryable"
    if (response.status === 429 && secret) {
      const recent = uses.get(secret)?.length ?? 0
      if (recent <= 300) return `429 after ${recent} requests in two minutes`
      return envelope(429, "rate_limited")(response) ?? "retryable"
    }
    return check(response)
  }

  function newCall(account: Account): Call {
    return { account, idempotencyKey: randomUUID(), body: longerBody(random.between(1, 60)), bodies: [] }
  }

  function sendRun(kind: Kind, { account, idempotencyKey, body }: Call, withKey: boolean) {
    const headers = {
      "x-api-key": account.keys[0],
      "content-type": "application/json",
      ...(withKey && { "idempotency-key": idempotencyKey }),
    }
    return send(kind, work.path, { method: "POST", headers, body }, (response) =>
      // An attempt without a response may hold the key until its reservation expires.
      response.status === 409 && withKey ? envelope(409, "idempotency_in_progress")(response) : settled(response),
    )
  }

  async function sendKeyed(kind: Kind, call: Call): Promise<void> {
    const response = await sendRun(kind, call, true)
    if (response?.status === 200) call.bodies.push(response.body)
  }

  const acts: Record<Kind, () => Promise<unknown>> = {
    "read of the user API": () => {
      const { id, keys } = pick(customers)
      const path = random.pick(["", "", "/subscription", "/orders?limit=20", "/credits?limit=20"])
      const check = path === "" ? ownAccount(id) : path === "/subscription" ? object : list
      return send("read of the user API", `/api/v1/me${path}`, { headers: { "x-api-key": keys[0] } }, check)
    },
    "read of the admin API": () => {
      const { keys } = pick(operators)
      const path = random.pick([
        "users?limit=20",
        "orders",
        "credits?limit=20",
        "credits/balances?limit=20",
        "stats",
        "audit?limit=20",
      ])
      return send("read of the admin API", `/api/v1/admin/${path}`, { headers: { "x-api-key": keys[0] } }, list)
    },
    "run with Idempotency-Key": () => {
      const call = newCall(pick(keyed))
      calls.push(call)
      return sendKeyed("run with Idempotency-Key", call)
    },
    "run without Idempotency-Key": async () => {
      const response = await sendRun("run without Idempotency-Key", newCall(pick(keyless)), false)
      if (response) keylessRuns.push({ runId: JSON.parse(response.body).data.id, body: response.body })
    },
    "run sent again": async () => {
      if (calls.length > 0) await sendKeyed("run sent again", pick(calls))
    },
    "page of the user area": () => {
      const { email, session } = pick(customers)
      const path = random.pick(["/api-keys", "/account", "/account/credits", "/account/orders"])
      return send("page of the user area", path, { headers: { cookie: session } }, page(email))
    },
    "page of the console": () => {
      const { email, session } = pick(operators)
      const path = random.pick(["/admin", "/admin/users", "/admin/orders", "/admin/credits", "/admin/api-keys"])
      return send("page of the console", path, { headers: { cookie: session } }, page(email))
    },
    "refused request": () => {
      const [headers, path, check] = pick(refusals())
      return send("refused request", path, { headers }, check)
    },
    "key created and revoked": async () => {
      // One at a time per customer, and each customer in turn: the number of keys created per hour is limited.
      const customer = idle.shift()
      if (!customer) return
      await createAndRevoke(customer)
      idle.push(customer)
    },
    "credits granted": async () => {
      await grant(pick(operators), pick(keyed))
    },
  }

  /** Requests that must be refused: no key, an invalid key, a key of the other surface, an invalid request. */
  function refusals(): [Record<string, string>, string, Check][] {
    const [own] = pick(customers).keys
    const [admin] = pick(operators).keys
    return [
      [{}, "/api/v1/me", envelope(401, "unauthorized")],
      [{ "x-api-key": `${own.slice(0, -1)}_` }, "/api/v1/me", envelope(401, "unauthorized")],
      [{ "x-api-key": own }, "/api/v1/admin/users", envelope(403, "wrong_scope")],
      [{ "x-api-key": admin }, "/api/v1/me", envelope(403, "wrong_scope")],
      [{ "x-api-key": own }, "/api/v1/me/orders?limit=501", envelope(400, "bad_request")],
      [{ "x-api-key": admin }, "/api/v1/nothing", envelope(404, "not_found")],
    ]
  }

  /** Submits a form of a page to that page, as a browser without JavaScript does. */
  async function submit(
    kind: Kind,
    path: string,
    session: string,
    fields: Record<string, string>,
    check: Check,
    hidden?: Record<string, string>,
  ): Promise<{ response: Exchange | undefined; hidden: Record<string, string> } | undefined> {
    let form = hidden
    if (!form) {
      const shown = await send(kind, path, { headers: { cookie: session } }, (response) =>
        readForms(response.body).some(hasFields(fields)) ? undefined : `${response.status} without the form`,
      )
      if (!shown) return undefined
      form = readForms(shown.body).find(hasFields(fields)) ?? {}
    }
    const data = new FormData()
    for (const [name, value] of Object.entries({ ...form, ...fields })) data.append(name, value)
    const encoded = new Response(data)
    const headers = { cookie: session, origin: address, "content-type": encoded.headers.get("content-type") ?? "" }
    const body = new Uint8Array(await encoded.arrayBuffer())
    return { response: await send(kind, path, { method: "POST", headers, body }, check), hidden: form }
  }

  async function createAndRevoke({ session, keys, keyId }: Customer): Promise<void> {
    const kind = "key created and revoked"
    const name = `Soak ${randomUUID()}`
    const made = await submit(
      kind,
      "/api-keys?new",
      session,
      { name, expires: "never", date: "", scopes: "read, run" },
      (response) => (new RegExp(keyPattern).test(response.body) ? undefined : `${response.status} without a key`),
    )
    const [secret] = new RegExp(keyPattern).exec(made?.response?.body ?? "") ?? []
    if (!secret || secret === keys[0]) return
    const headers = { "x-api-key": secret }
    if (!(await send(kind, "/api/v1/me", { headers }, object))) return
    const shown = await send(kind, "/api-keys", { headers: { cookie: session } }, (response) =>
      response.body.includes(name) ? undefined : `${response.status} without the new key`,
    )
    const ids = [...(shown?.body.matchAll(/name="revoke" value="([0-9a-f-]{36})"/g) ?? [])].map(([, id = ""]) => id)
    const [id] = ids.filter((one) => one !== keyId)
    if (!id) return
    const revoked = await submit(kind, `/api-keys?revoke=${id}`, session, { id, reason: "not_needed" }, (response) =>
      response.status === 200 && response.body.includes("is revoked") ? undefined : `${response.status}, not revoked`,
    )
    if (revoked?.response) await send(kind, "/api/v1/me", { headers }, envelope(401, "unauthorized"))
  }

  /** A form is idempotent, so it is retried until a response confirms the grant. */
  async function grant({ session }: Operator, account: Account): Promise<void> {
    const path = `/admin/users/${account.id}?action=grant`
    const amount = random.between(1, 50)
    const fields = { amount: String(amount), reason: "For the soak" }
    const check: Check = (response) =>
      response.status === 200 && /credits/i.test(response.body) && !/role="alert"|name="proof"/.test(response.body)
        ? undefined
        : `${response.status}, not granted`
    let sent = await submit("credits granted", path, session, fields, check)
    for (let attempt = 0; sent && !sent.response && attempt < 100; attempt++) {
      await sleep(500)
      sent = await submit("credits granted", path, session, fields, check, sent.hidden)
    }
    if (sent?.response) account.granted += amount
  }

  function chooseKind(): Kind {
    let left = random.next() * 100
    for (const kind of kinds) {
      left -= weights[kind]
      if (left < 0) return kind
    }
    return "read of the user API"
  }

  /** Retries every call without a final response. */
  async function finish(): Promise<void> {
    for (const call of calls) {
      for (let attempt = 0; call.bodies.length === 0 && attempt < 100; attempt++) {
        await sendKeyed("run sent again", call)
        if (call.bodies.length === 0) await sleep(500)
      }
    }
  }

  return {
    calls,
    keylessRuns,
    keyed,
    keyless,
    responses,
    countOf: (status: string) => counts.get(status) ?? 0,
    statuses: () => [...counts.keys()].sort(),
    act: () => acts[chooseKind()](),
    /** A request of one customer, who sends twice as many as the rate limit allows. */
    greedy: (customer: Customer) =>
      send(
        "read of the user API",
        "/api/v1/me",
        { headers: { "x-api-key": customer.keys[0] } },
        ownAccount(customer.id),
      ),
    finish,
  }
}

export type Traffic = ReturnType<typeof createTraffic>

function hasFields(fields: Record<string, string>) {
  return (form: Record<string, string>) => Object.keys(fields).every((name) => name in form)
}

function envelope(status: number, code: string): Check {
  return (response) => {
    const { error, ...more } = response.status === status ? JSON.parse(response.body) : { error: undefined }
    const isCorrect = error?.code === code && typeof error.message === "string" && Object.keys(more).length === 0
    return isCorrect ? undefined : `${response.status} instead of ${status} ${code}: ${response.body.slice(0, 200)}`
  }
}

function ownAccount(id: string): Check {
  return (response) =>
    object(response) ?? (JSON.parse(response.body).data.id === id ? undefined : "another account's data")
}

function object(response: Exchange): string | undefined {
  if (response.status !== 200) return `${response.status}: ${response.body.slice(0, 200)}`
  return Object.keys(JSON.parse(response.body)).join() === "data" ? undefined : `invalid envelope: ${response.body}`
}

function list(response: Exchange): string | undefined {
  if (response.status !== 200) return `${response.status}: ${response.body.slice(0, 200)}`
  const { data, meta } = JSON.parse(response.body)
  const isCorrect = Array.isArray(data) && data.length <= meta.limit && data.length <= meta.total && !(meta.balance < 0)
  return isCorrect ? undefined : `invalid page of a list: ${response.body.slice(0, 200)}`
}

function page(email: string): Check {
  return (response) => {
    if (response.status !== 200)
      return `${response.status}: ${response.headers.location ?? response.body.slice(0, 200)}`
    return response.body.includes(email) ? undefined : "a page that does not show the email of the signed-in account"
  }
}

function settled(response: Exchange): string | undefined {
  if (response.status !== 200) return `${response.status}: ${response.body.slice(0, 200)}`
  const { data } = JSON.parse(response.body)
  const isCorrect = data.cost >= 0 && data.cost <= work.maxCost && data.balance >= 0
  return isCorrect ? undefined : `wrong result: ${response.body}`
}
