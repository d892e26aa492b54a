import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import type { Random } from "@/prisma/random"
import { exchange } from "@/tests/support/exchange"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"

/** `granted`: all credits it ever got. */
export type Account = { id: string; keys: [string, ...string[]]; granted: number }

export type Accounts = [Account, ...Account[]]

/** One call of a customer. Whatever happens to it on the way, it is sent again under its key until it has an answer. */
export type Call = {
  account: Account
  idempotencyKey: string
  text: string
  words: number
  cost: number
  /** Of every 200 that came, also of those that were asked for once more. */
  bodies: string[]
  /** From when on it may be sent again. */
  due: number
  /** Whether the last answer said that another call holds its key. */
  held: boolean
}

/** What clients do: make calls, only finish those that are open and not held, or nothing more. */
export type Phase = "call" | "finish" | "end"

type Answer = { status: number; body: string; replayed: boolean; retryAfterMs: number }

const wordsACredit = 100
const maxOpen = 500
const maxOpenOfPoor = 60
const vocabulary = [
  "invoice",
  "ledger",
  "balance",
  "credit",
  "account",
  "settle",
  "reserve",
  "the",
  "of",
  "and",
] as const

/** No answers yet: too few credits, key held, too many requests, database away. */
const passing = new Set([402, 409, 429, 503])

/** The first one has more keys than the others, for every key has its limit of requests. */
export async function createAccounts(count: number, granted: number): Promise<Accounts> {
  const accounts: Accounts = [await createAccount(20, granted)]
  while (accounts.length < count) accounts.push(await createAccount(6, granted))
  return accounts
}

async function createAccount(keys: number, granted: number): Promise<Account> {
  const user = await createUser()
  const newKey = async () => (await createKey({ user, surface: "user" })).secret
  const account: Account = { id: user.id, keys: [await newKey()], granted }
  while (account.keys.length < keys) account.keys.push(await newKey())
  await grantCredits(user.id, granted)
  return account
}

/** @param onViolation told what no client may ever see */
export function createClients({
  random,
  rich,
  poor,
  addresses,
  onViolation,
}: {
  random: Random
  rich: Accounts
  poor: Accounts
  addresses: [string, ...string[]]
  onViolation: (text: string) => void
}) {
  const calls: Call[] = []
  const open = new Set<Call>()
  const counts = new Map<string, number>()
  let lastAcknowledged = Date.now()

  function count(what: string): void {
    counts.set(what, (counts.get(what) ?? 0) + 1)
  }

  function chooseAccount(): Account {
    const waiting = [...open].filter(({ account }) => poor.includes(account)).length
    if (waiting < maxOpenOfPoor && random.chance(0.1)) return random.pick(poor)
    return random.chance(0.3) ? rich[0] : random.pick(rich)
  }

  function newCall(): Call {
    const words = random.between(1, 1_000)
    const call: Call = {
      account: chooseAccount(),
      idempotencyKey: randomUUID(),
      text: Array.from({ length: words }, () => random.pick(vocabulary)).join(" "),
      words,
      cost: Math.ceil(words / wordsACredit),
      bodies: [],
      due: 0,
      held: false,
    }
    calls.push(call)
    open.add(call)
    return call
  }

  function takeCall(phase: Phase): Call | undefined {
    const now = Date.now()
    for (const call of open) if (call.due <= now && (phase === "call" || !call.held)) return call
    return phase === "call" && open.size < maxOpen ? newCall() : undefined
  }

  /** Nothing when no answer came. */
  async function send(call: Call, input: string, patienceMs?: number): Promise<Answer | undefined> {
    count("requests")
    const headers = {
      Authorization: `Bearer ${random.pick(call.account.keys)}`,
      "Content-Type": "application/json",
      "Idempotency-Key": call.idempotencyKey,
    }
    const url = `${random.pick(addresses)}/api/v1/me/run`
    const body = JSON.stringify({ text: input })
    const response = await exchange(url, { method: "POST", headers, body }, patienceMs)
    count(String(response?.status ?? "lost"))
    if (!response) return undefined
    const { "idempotency-replayed": replayed, "retry-after": seconds = 0 } = response.headers
    return {
      status: response.status,
      body: response.body,
      replayed: replayed === "true",
      retryAfterMs: Number(seconds) * 1_000,
    }
  }

  function accept(call: Call, { status, body }: Answer): void {
    if (status === 200) call.bodies.push(body)
    else if (!passing.has(status)) onViolation(`A call was answered ${status}: ${body}`)
  }

  /** Now and then twice at once, and now and then by a client that soon hangs up. */
  async function attempt(call: Call): Promise<void> {
    call.due = Number.POSITIVE_INFINITY
    call.held = false
    const patienceMs = random.chance(0.1) ? random.between(1, 30) : undefined
    const sent = [send(call, call.text, patienceMs)]
    if (random.chance(0.15)) sent.push(send(call, call.text))
    const responses = (await Promise.all(sent)).filter((response) => response !== undefined)
    for (const response of responses) accept(call, response)
    if (call.bodies.length === 0) return putOff(call, responses.at(-1))
    open.delete(call)
    lastAcknowledged = Date.now()
    if (random.chance(0.1)) await sendAgain(call)
    if (random.chance(0.05)) await sendOtherwise(call)
  }

  function putOff(call: Call, response: Answer | undefined): void {
    call.held = response?.status === 409
    // What Retry-After says, but not when it is long: that is a rate limit, and the next attempt takes another key.
    const waitMs = response && response.status !== 402 ? Math.min(2_000, response.retryAfterMs) : 300
    call.due = Date.now() + waitMs + random.between(20, 200)
  }

  /** An acknowledged call is answered once more as it was, whatever the balance is by now. */
  async function sendAgain(call: Call): Promise<void> {
    const response = await send(call, call.text)
    if (!response || response.status === 429 || response.status === 503) return
    accept(call, response)
    if (response.status === 200 && response.replayed) count("replayed")
    else onViolation(`An acknowledged call was not replayed but answered ${response.status}: ${response.body}`)
  }

  async function sendOtherwise(call: Call): Promise<void> {
    const response = await send(call, `Otherwise: ${call.text.slice(0, 100)}`)
    if (!response || response.status === 429 || response.status === 503) return
    if (response.status !== 422)
      onViolation(`Another body under a used key was answered ${response.status}: ${response.body}`)
  }

  async function client(phase: () => Phase): Promise<void> {
    for (let now = phase(); now !== "end"; now = phase()) {
      const call = takeCall(now)
      if (call) await attempt(call)
      else await sleep(20)
    }
  }

  return {
    calls,
    open,
    countOf: (what: string) => counts.get(what) ?? 0,
    acknowledged: () => calls.length - open.size,
    /** How long it is since a call was acknowledged. */
    silenceMs: () => Date.now() - lastAcknowledged,
    run: (clients: number, phase: () => Phase) => Promise.all(Array.from({ length: clients }, () => client(phase))),
  }
}

export type Clients = ReturnType<typeof createClients>
