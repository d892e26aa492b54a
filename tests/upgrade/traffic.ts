import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import type { Random } from "@/prisma/random"
import { type Charged, reportViolation } from "@/tests/load/chaos-checks"
import type { Account } from "@/tests/load/chaos-clients"
import { type Exchange, exchange } from "@/tests/support/exchange"
import { longerBody, work } from "@/tests/support/work"
import type { Instance } from "./instances"

export type Customer = Account & { email: string; session: string }
export type Operator = { email: string; session: string; key: string }
type Call = Charged & { account: Account }

const lists = ["orders", "users", "audit", "credits?limit=20", "stats"]

/** Sends requests to the instances of a pool, which changes, and reports every wrong response. */
export function createTraffic(
  random: Random,
  pool: readonly Instance[],
  customers: readonly Customer[],
  { email, session, key }: Operator,
) {
  const calls: Call[] = []
  let requests = 0

  /** A client waits after a 429; any other unexpected status is a violation. */
  async function send(
    at: Instance,
    path: string,
    secret: string | (() => string),
    sent: Parameters<typeof exchange>[1] = {},
    expected: readonly number[] = [200],
  ): Promise<Exchange | undefined> {
    at.inFlight++
    try {
      for (;;) {
        requests++
        const credential = typeof secret === "string" ? { cookie: secret } : { "x-api-key": secret() }
        const response = await exchange(at.address + path, { ...sent, headers: { ...credential, ...sent?.headers } })
        if (response?.status === 429) {
          await sleep(Math.min(2, Number(response.headers["retry-after"])) * 1_000)
          continue
        }
        if (response && expected.includes(response.status)) return response
        const { method = "GET" } = sent
        reportViolation(
          `${method} ${path} at the ${at.build.name} build: ${response?.status ?? "no response"} ${response?.body.slice(0, 300) ?? ""}`,
        )
        return undefined
      }
    } finally {
      at.inFlight--
    }
  }

  const anyInstance = () => random.pick(pool as [Instance, ...Instance[]])
  /** An instance of the other build, if there is one. */
  const another = (than: Instance) => {
    const others = pool.filter(({ build }) => build !== than.build)
    return random.pick((others.length > 0 ? others : pool) as [Instance, ...Instance[]])
  }

  /** A run is sent to one instance, and again with its Idempotency-Key, also to one of the other build; sometimes to both at once. */
  async function run(account: Customer): Promise<void> {
    const idempotencyKey = randomUUID()
    const body = longerBody(random.between(1, 20))
    const call: Call = { account, idempotencyKey, body, bodies: [] }
    const headers = { "content-type": "application/json", "idempotency-key": idempotencyKey }
    const attempt = (at: Instance) =>
      send(at, work.path, () => random.pick(account.keys), { method: "POST", headers, body }, [200, 409])
    const first = anyInstance()
    const both = random.chance(0.2) ? [first, another(first)] : [first]
    const responses = await Promise.all(both.map(attempt))
    // One of two at once gets a 409.
    responses.push(await attempt(another(first)))
    for (const response of responses) if (response?.status === 200) call.bodies.push(response.body)
    if (call.bodies.length > 0) calls.push(call)
    if (responses.at(-1)?.status !== 200) reportViolation("A run that was sent again was not replayed")
    else if (responses.at(-1)?.headers["idempotency-replayed"] !== "true") reportViolation("A run was done twice")
  }

  const acts = [
    run,
    run,
    async (account: Customer) => {
      const response = await send(anyInstance(), "/api/v1/me", () => random.pick(account.keys))
      if (response && JSON.parse(response.body).data.id !== account.id) reportViolation("Another account's data")
    },
    (account: Customer) => send(anyInstance(), "/api/v1/me/credits?limit=5", () => random.pick(account.keys)),
    () => send(anyInstance(), `/api/v1/admin/${random.pick(lists as [string, ...string[]])}`, () => key),
    async (account: Customer) => {
      const page = await send(anyInstance(), "/api-keys", account.session)
      if (page && !page.body.includes(account.email)) reportViolation("A page of another account")
    },
    async () => {
      const page = await send(anyInstance(), "/admin/users", session)
      if (page && !page.body.includes(email)) reportViolation("A page of the console without its account")
    },
  ]

  return {
    calls,
    requests: () => requests,
    async send(clients: number, goesOn: () => boolean): Promise<void> {
      const client = async () => {
        while (goesOn())
          await random.pick(acts as [typeof run, ...(typeof run)[]])(
            random.pick(customers as [Customer, ...Customer[]]),
          )
      }
      await Promise.all(Array.from({ length: clients }, client))
    },
  }
}
