import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import type { Random } from "@/prisma/random"
import { type Exchange, exchange } from "@/tests/support/exchange"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { longerBody, otherBodies, work } from "@/tests/support/work"

/** `granted`: the sum of all credits that the account has received. */
export type Account = { id: string; keys: [string, ...string[]]; granted: number }

export type Accounts = [Account, ...Account[]]

/** One call of a customer. It is retried with its Idempotency-Key until it receives a final response. */
export type Call = {
  account: Account
  idempotencyKey: string
  body: string
  /** The bodies of all responses with status 200, including replays. */
  bodies: string[]
  /** When the next attempt may be sent. */
  due: number
  /** Whether the last response was 409: another request with its Idempotency-Key is in progress. */
  keyInUse: boolean
}

/** Modes of the clients: make new calls, only finish open calls whose keys are not in use, or stop. */
export type Phase = "call" | "finish" | "end"

type RunResponse = { status: number; body: string; replayed: boolean; retryAfterMs: number }

const maxOpen = 500
const maxOpenOfPoor = 60

/** Statuses after which a call is retried: too few credits or limit reached, key in use, too many requests, database unavailable. */
const retryable = new Set([402, 409, 429, 503])

/** The first account has more keys than the others, since each key has its own rate limit. */
export async function createAccounts(count: number, granted: number): Promise<Accounts> {
  const accounts: Accounts = [await createAccount(20, granted)]
  while (accounts.length < count) accounts.push(await createAccount(6, granted))
  return accounts
}

/** Every second key has a spending limit: from 0, which refuses every call, to one that few runs of this test reach. */
async function createAccount(keys: number, granted: number): Promise<Account> {
  const user = await createUser()
  const periods = ["day", "week", "month", "never"] as const
  const newKey = async (index: number) => {
    const limit = { spendLimit: work.maxCost * (index - 1), spendPeriod: periods[(index >> 1) % 4] ?? "never" }
    return (await createKey({ user, surface: "user", ...(index % 2 === 1 && limit) })).secret
  }
  const account: Account = { id: user.id, keys: [await newKey(0)], granted }
  while (account.keys.length < keys) account.keys.push(await newKey(account.keys.length))
  await grantCredits(user.id, granted)
  return account
}

/**
 * @param pauseMs the time between two calls of a client
 * @param onViolation called with each response that no client may ever receive
 * @param onResponse called with each response
 */
export function createClients({
  random,
  rich,
  poor,
  addresses,
  pauseMs = 0,
  onViolation,
  onResponse = () => {},
}: {
  random: Random
  rich: Accounts
  poor: Accounts
  addresses: [string, ...string[]]
  pauseMs?: number
  onViolation: (text: string) => void
  onResponse?: (address: string, response: Exchange) => void
}) {
  const calls: Call[] = []
  const open = new Set<Call>()
  const counts = new Map<string, number>()
  let lastAcknowledged = Date.now()

  function count(name: string): void {
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }

  function chooseAccount(): Account {
    const waiting = [...open].filter(({ account }) => poor.includes(account)).length
    if (waiting < maxOpenOfPoor && random.chance(0.1)) return random.pick(poor)
    return random.chance(0.3) ? rich[0] : random.pick(rich)
  }

  function newCall(): Call {
    const call: Call = {
      account: chooseAccount(),
      idempotencyKey: randomUUID(),
      body: longerBody(random.between(1, 60)),
      bodies: [],
      due: 0,
      keyInUse: false,
    }
    calls.push(call)
    open.add(call)
    return call
  }

  function takeCall(phase: Phase): Call | undefined {
    const now = Date.now()
    for (const call of open) if (call.due <= now && (phase === "call" || !call.keyInUse)) return call
    return phase === "call" && open.size < maxOpen ? newCall() : undefined
  }

  /** @returns undefined if no complete response arrived */
  async function send(call: Call, body: string, timeoutMs?: number): Promise<RunResponse | undefined> {
    count("requests")
    const headers = {
      Authorization: `Bearer ${random.pick(call.account.keys)}`,
      "Content-Type": "application/json",
      "Idempotency-Key": call.idempotencyKey,
    }
    const address = random.pick(addresses)
    const response = await exchange(address + work.path, { method: "POST", headers, body }, timeoutMs)
    count(String(response?.status ?? "lost"))
    if (!response) return undefined
    onResponse(address, response)
    if (response.body.includes('"key_limit_reached"')) count("key_limit_reached")
    const { "idempotency-replayed": replayed, "retry-after": seconds = 0 } = response.headers
    return {
      status: response.status,
      body: response.body,
      replayed: replayed === "true",
      retryAfterMs: Number(seconds) * 1_000,
    }
  }

  function accept(call: Call, { status, body }: RunResponse): void {
    if (status === 200) call.bodies.push(body)
    else if (!retryable.has(status)) onViolation(`A call returned ${status}: ${body}`)
  }

  /** Some attempts are sent twice concurrently, and some clients disconnect within 30 ms. */
  async function attempt(call: Call): Promise<void> {
    call.due = Number.POSITIVE_INFINITY
    call.keyInUse = false
    const timeoutMs = random.chance(0.1) ? random.between(1, 30) : undefined
    const sent = [send(call, call.body, timeoutMs)]
    if (random.chance(0.15)) sent.push(send(call, call.body))
    const responses = (await Promise.all(sent)).filter((response) => response !== undefined)
    for (const response of responses) accept(call, response)
    if (call.bodies.length === 0) return scheduleRetry(call, responses.at(-1))
    open.delete(call)
    lastAcknowledged = Date.now()
    if (random.chance(0.1)) await sendAgain(call)
    if (random.chance(0.05)) await sendAnotherBody(call)
  }

  function scheduleRetry(call: Call, response: RunResponse | undefined): void {
    call.keyInUse = response?.status === 409
    // Retry-After is capped at two seconds: a longer one is a rate limit, and the next attempt uses another key.
    const waitMs = response && response.status !== 402 ? Math.min(2_000, response.retryAfterMs) : 300
    call.due = Date.now() + waitMs + random.between(20, 200)
  }

  /** A retry of an acknowledged call replays the stored response, regardless of the current balance. */
  async function sendAgain(call: Call): Promise<void> {
    const response = await send(call, call.body)
    if (!response || response.status === 429 || response.status === 503) return
    accept(call, response)
    if (response.status === 200 && response.replayed) count("replayed")
    else onViolation(`An acknowledged call was not replayed but returned ${response.status}: ${response.body}`)
  }

  async function sendAnotherBody(call: Call): Promise<void> {
    const other = [work.body, ...otherBodies].find((body) => body !== call.body)
    const response = other && (await send(call, other))
    if (!response || response.status === 429 || response.status === 503) return
    if (response.status !== 422)
      onViolation(`Another body with a used Idempotency-Key returned ${response.status}: ${response.body}`)
  }

  async function client(phase: () => Phase): Promise<void> {
    for (let current = phase(); current !== "end"; current = phase()) {
      const call = takeCall(current)
      if (call) await attempt(call)
      await sleep(call ? pauseMs : 20)
    }
  }

  return {
    calls,
    open,
    countOf: (name: string) => counts.get(name) ?? 0,
    acknowledged: () => calls.length - open.size,
    /** Milliseconds since a call was last acknowledged. */
    silenceMs: () => Date.now() - lastAcknowledged,
    run: (clients: number, phase: () => Phase) => Promise.all(Array.from({ length: clients }, () => client(phase))),
  }
}

export type Clients = ReturnType<typeof createClients>
