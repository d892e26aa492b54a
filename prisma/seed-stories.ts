import example from "@/app/api/v1/me/run/example.json" with { type: "json" }
import { GET as run } from "@/app/api/v1/me/run/route"
import { inCredits } from "@/lib/credits/words"
import type { RevocationReason } from "@/lib/keys/choices"
import { hashSecret, secretOf, startOf } from "@/lib/keys/secret"
import { demoAccounts, demoKey } from "@/lib/process/demo-accounts"
import { creditPacks, planCurrencies, planIntervals, plans, product } from "@/lib/product"
import { planOf, type SoldPlan } from "@/lib/purchases/sold-plans"
import { kinds, type Surface } from "@/lib/surfaces"
import { Random } from "./random"

const maxCost = run.endpoint.metered?.maxCost ?? 0

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const span = 548 * day

/** Rows by table. Their keys are column names. */
export type Row = Record<string, string | number | boolean | object | null>
export type Rows = Record<
  | "users"
  | "api_keys"
  | "key_spending"
  | "subscriptions"
  | "orders"
  | "refunds"
  | "credit_accounts"
  | "runs"
  | "credit_entries"
  | "audit_entries"
  | "emails"
  | "feedback"
  | "waitlist_entries",
  Row[]
>

/** All rows of one account. */
export type Story = Rows

const [usualCurrency, otherCurrency = usualCurrency] = planCurrencies
const [usualInterval, otherInterval = usualInterval] = planIntervals

/** The next plan, paid in the same way. */
function largerThan({ name, interval, currency }: SoldPlan): SoldPlan | undefined {
  const next = plans[plans.findIndex((plan) => plan.name === name) + 1]
  return next && planOf(next, interval, currency)
}

/** The plans are older than every account. */
export function plansCreatedAt(end: number): string {
  return iso(end - span)
}

/** Each plan once for every plan from it to the last, so that the first plans have the most subscriptions. */
const popularity = plans.flatMap((plan, index) => plans.slice(index).map(() => plan))

type Person = {
  id: string
  email: string
  name: string
  role: string
  status: "active" | "banned" | "closed"
  passwordHash: string | null
  createdAt: number
}

type Fate = { revokedAt?: number; reason?: RevocationReason; expiresAt?: number }

/** Builds the rows of one account. They can be added in any order; `finish` builds the ledger from the events. */
class StoryBuilder {
  readonly rows: Rows = {
    users: [],
    api_keys: [],
    key_spending: [],
    subscriptions: [],
    orders: [],
    refunds: [],
    credit_accounts: [],
    runs: [],
    credit_entries: [],
    audit_entries: [],
    emails: [],
    feedback: [],
    waitlist_entries: [],
  }
  readonly #events: { at: number; apply: () => void }[] = []
  #balance = 0
  #granted = 0
  #spent = 0
  #seq = 0

  constructor(
    public random: Random,
    readonly person: Person,
    /** No row is later than this time. */
    readonly end: number,
  ) {
    const { id, createdAt } = person
    this.rows.users.push({
      id,
      email: person.email,
      name: person.name,
      role: person.role,
      status: person.status,
      password_hash: person.passwordHash,
      session_version: 0,
      email_verified: iso(createdAt),
      image: null,
      created_at: iso(createdAt),
      updated_at: iso(createdAt),
    })
    this.audit(createdAt, id, "user.signed_up", "user", id)
    this.email(createdAt, "welcome", `Welcome to ${product.name}`)
    this.#events.push({
      at: createdAt,
      apply: () => this.#entry(createdAt, "grant", 100, { reason: "Welcome credits" }),
    })
  }

  audit(
    at: number,
    actorId: string | null,
    action: string,
    targetType: string,
    targetId: string,
    details: object = {},
  ) {
    this.rows.audit_entries.push({
      id: this.random.uuid(at),
      actor_id: actorId,
      action,
      target_type: targetType,
      target_id: targetId,
      details,
      created_at: iso(at),
    })
  }

  email(at: number, template: string, subject: string) {
    const draw = this.random.next()
    const status = draw < 0.95 ? "sent" : draw < 0.98 ? "not_sent" : "failed"
    this.rows.emails.push({
      id: this.random.uuid(at),
      user_id: this.person.id,
      to: this.person.email,
      template,
      subject,
      status,
      error: status === "failed" ? "550 mailbox unavailable" : null,
      created_at: iso(at),
      sent_at: status === "sent" ? iso(Math.min(at + 2_000, this.end)) : null,
    })
  }

  /** @returns the row, to which limits can be added */
  key(at: number, surface: Surface, name: string, secret: string, fate: Fate = {}): Row {
    const id = this.random.uuid(at)
    const start = startOf(secret)
    const { revokedAt, expiresAt, reason = null } = fate
    const row: Row = {
      id,
      user_id: this.person.id,
      surface,
      name,
      start,
      hash: `\\x${hashSecret(secret).toString("hex")}`,
      request_id: this.random.uuid(at),
      created_at: iso(at),
      expires_at: expiresAt === undefined ? null : iso(expiresAt),
      revoked_at: revokedAt === undefined ? null : iso(revokedAt),
      revoked_by_id: revokedAt === undefined ? null : this.person.id,
      revocation_reason: reason,
      last_used_at: this.random.chance(0.7) ? iso(Math.min(at + this.random.between(1, 200) * hour, this.end)) : null,
      scopes: null,
      allowed_cidrs: null,
      requests_per_minute: null,
      spend_limit: null,
      spend_period: null,
      root_id: null,
      successor_id: null,
    }
    this.rows.api_keys.push(row)
    const details = { surface, start }
    this.audit(at, this.person.id, "api_key.issued", "api_key", id, details)
    this.email(at, "key_created", "A new API key was created")
    if (revokedAt === undefined) return row
    this.audit(revokedAt, this.person.id, "api_key.revoked", "api_key", id, {
      ...details,
      ownerId: this.person.id,
      ...(reason && { reason }),
    })
    this.email(revokedAt, "keys_revoked", "An API key was revoked")
    return row
  }

  /** Adds rows without a change of the rows that are generated after them. */
  apart(add: () => void) {
    const { random } = this
    this.random = new Random(this.person.createdAt)
    add()
    this.random = random
  }

  /** Limits what a key can spend in total. @returns where its runs are counted */
  cap(key: Row, limit: number): Row {
    Object.assign(key, { spend_limit: limit, spend_period: "never" })
    const id = this.random.uuid(this.person.createdAt)
    const spending = { id, root_id: String(key.id), period: "never", starts_at: iso(0), spent: 0, held: 0 }
    this.rows.key_spending.push(spending)
    return spending
  }

  /**
   * Subscribes at `at`; each period is paid, fails or is canceled. Some subscriptions are replaced by one to a larger plan.
   * Returns when the last one ended, if it did.
   */
  subscription(at: number, plan: SoldPlan, churn: number): number | undefined {
    const id = this.random.uuid(at)
    const length = plan.interval === "year" ? 365 * day : 30 * day
    const trialing = at > this.end - 14 * day && this.random.chance(0.5)
    // Separate from the random numbers of the other rows.
    const changes = new Random(at)
    const larger = changes.chance(0.15) ? largerThan(plan) : undefined
    const changesAt = at + changes.between(1, 6) * length
    let current = { id, plan, at, firstAt: at, replaces: null as string | null }
    let periodStart = at
    let status = trialing ? "trialing" : "active"
    let canceledAt: number | undefined
    for (; !trialing; periodStart += length) {
      if (larger && periodStart === changesAt) {
        this.#subscription(
          { ...current, replaced: true, status: "canceled", canceledAt: periodStart },
          periodStart - length,
        )
        current = { id: changes.uuid(periodStart), plan: larger, at: periodStart, firstAt: at, replaces: current.id }
      }
      const paid = this.order(periodStart, {
        subscriptionId: current.id,
        description: `${current.plan.name}, one ${plan.interval}`,
        amount: current.plan.amount,
        currency: plan.currency,
        credits: current.plan.credits,
      })
      const periodEnd = periodStart + length
      if (periodEnd > this.end) {
        if (!paid) status = "past_due"
        break
      }
      if (!paid || this.random.chance(churn)) {
        canceledAt = periodEnd
        break
      }
    }
    if (canceledAt !== undefined) status = "canceled"
    this.#subscription({ ...current, replaced: false, status, canceledAt }, periodStart)
    return canceledAt
  }

  #subscription(
    of: {
      id: string
      plan: SoldPlan
      at: number
      firstAt: number
      replaces: string | null
      replaced: boolean
      status: string
      canceledAt: number | undefined
    },
    periodStart: number,
  ) {
    const { plan, canceledAt } = of
    this.rows.subscriptions.push({
      id: of.id,
      user_id: this.person.id,
      plan_id: plan.id,
      status: of.status,
      amount: plan.amount,
      currency: plan.currency,
      interval: plan.interval,
      created_at: iso(of.at),
      current_period_start: iso(periodStart),
      current_period_end: iso(periodStart + (plan.interval === "year" ? 365 * day : 30 * day)),
      cancel_at_period_end: canceledAt === undefined && this.random.chance(0.05),
      canceled_at: canceledAt === undefined ? null : iso(canceledAt),
      paying_since: of.status === "trialing" ? "infinity" : null,
      replaces_id: of.replaces,
      replaced: of.replaced,
      first_created_at: of.replaces === null ? null : iso(of.firstAt),
    })
  }

  pack(at: number, pack: (typeof creditPacks)[number], currency: string) {
    const description = inCredits(pack.credits)
    this.order(at, { subscriptionId: null, description, amount: pack.amount, currency, credits: pack.credits })
  }

  /** Returns false if the payment failed. */
  order(
    at: number,
    what: { subscriptionId: string | null; description: string; amount: number; currency: string; credits: number },
  ): boolean {
    const id = this.random.uuid(at)
    const draw = this.random.next()
    const recent = at > this.end - 3 * day
    const status =
      draw < 0.03
        ? "failed"
        : draw < 0.05
          ? "refunded"
          : draw < 0.07
            ? "partially_refunded"
            : recent && draw < 0.2
              ? "pending"
              : "paid"
    const paidAt = status === "failed" || status === "pending" ? undefined : Math.min(at + 4_000, this.end)
    const refunded =
      status === "refunded" ? what.amount : status === "partially_refunded" ? Math.floor(what.amount / 2) : 0
    const refundedAt = refunded > 0 ? iso(Math.min(at + this.random.between(1, 12) * day, this.end)) : null
    this.rows.orders.push({
      id,
      user_id: this.person.id,
      subscription_id: what.subscriptionId,
      kind: what.subscriptionId ? "subscription" : "credits",
      description: what.description,
      status,
      amount: what.amount,
      refunded_amount: refunded,
      currency: what.currency,
      credits: what.credits,
      created_at: iso(at),
      paid_at: paidAt === undefined ? null : iso(paidAt),
      refunded_at: refundedAt,
    })
    if (refundedAt !== null) {
      // An order has at most one here, so it can have the same id.
      this.rows.refunds.push({ id, order_id: id, amount: refunded, currency: what.currency, created_at: refundedAt })
    }
    if (paidAt !== undefined) {
      const apply = () => this.#entry(paidAt, "purchase", what.credits, { orderId: id, reason: what.description })
      this.#events.push({ at: paidAt, apply })
    }
    return status !== "failed"
  }

  /**
   * One metered call: reserves its maximum, then settles its cost or fails. Does nothing if the balance is below that.
   * @param by the key that made it, with its spending if that has a limit
   */
  run(at: number, { key, spending }: { key?: Row | undefined; spending?: Row } = {}) {
    this.#events.push({
      at,
      apply: () => {
        if (this.#balance < maxCost) return
        const id = this.random.uuid(at)
        const ended = Math.min(at + this.random.between(20, 900), this.end)
        const failed = this.random.chance(0.03)
        const cost = failed ? 0 : this.random.between(1, maxCost)
        this.#spent += cost
        if (spending) spending.spent = Number(spending.spent) + cost
        this.#entry(at, "reserve", -maxCost, { runId: id })
        if (failed) this.#entry(ended, "release", maxCost, { runId: id })
        else if (cost < maxCost) this.#entry(ended, "settle", maxCost - cost, { runId: id })
        const data = { ...example.data, id, cost, balance: this.#balance, createdAt: iso(at) }
        this.rows.runs.push({
          id,
          user_id: this.person.id,
          key_id: key?.id ?? null,
          idempotency_key: null,
          released_key: null,
          fingerprint: this.random.bytea(32),
          state: failed ? "failed" : "settled",
          reserved: maxCost,
          cost,
          response_status: failed ? null : 200,
          response_body: failed ? null : JSON.stringify({ data }),
          created_at: iso(at),
          expires_at: iso(at + 60_000),
          ended_at: iso(ended),
          spending_id: spending?.id ?? null,
          key_hold: spending ? maxCost : null,
        })
      },
    })
  }

  adjustment(at: number, amount: number, reason: string, actorId: string) {
    this.#events.push({
      at,
      apply: () => {
        if (this.#balance + amount >= 0) this.#entry(at, "adjustment", amount, { reason, actorId })
      },
    })
  }

  feedback(at: number, rating: number, message: string, actorId?: string) {
    const id = this.random.uuid(at)
    const status = this.random.pick(["new", "reviewed", "resolved"])
    const repliedAt = at + 20 * 3_600_000
    const isReplied = actorId !== undefined && status === "resolved" && repliedAt < this.end
    this.rows.feedback.push({
      id,
      user_id: this.person.id,
      rating,
      message,
      status,
      created_at: iso(at),
      reply: isReplied ? "Thank you. This is on our list, and we write to you once it is done." : null,
      replied_by_id: isReplied ? actorId : null,
      replied_at: isReplied ? iso(repliedAt) : null,
    })
  }

  /** Applies the events in order of time, so that the balances in the ledger are continuous. */
  finish(): Story {
    this.#events.sort((one, other) => one.at - other.at)
    for (const { apply } of this.#events) apply()
    const { id, createdAt } = this.person
    this.rows.credit_accounts.push({
      user_id: id,
      balance: this.#balance,
      granted: this.#granted,
      spent: this.#spent,
      seq: this.#seq,
      created_at: iso(createdAt),
    })
    return this.rows
  }

  #entry(
    at: number,
    kind: string,
    amount: number,
    of: { runId?: string; orderId?: string; actorId?: string; reason?: string },
  ) {
    this.#balance += amount
    if (["grant", "purchase", "adjustment"].includes(kind)) this.#granted += Math.max(0, amount)
    this.#seq += 1
    this.rows.credit_entries.push({
      id: this.random.uuid(at),
      user_id: this.person.id,
      seq: this.#seq,
      kind,
      amount,
      balance_after: this.#balance,
      run_id: of.runId ?? null,
      order_id: of.orderId ?? null,
      actor_id: of.actorId ?? null,
      reason: of.reason ?? null,
      created_at: iso(at),
    })
  }
}

/** The rows of the account `index` of `users`. Sign-ups become more frequent towards the end. */
export function storyOf(
  random: Random,
  { index, users, end, actorId }: { index: number; users: number; end: number; actorId: string },
): Story {
  const createdAt = Math.floor(end - span + span * ((index + random.next()) / users) ** 0.6)
  const name = `${random.pick(firstNames)} ${random.pick(lastNames)}`
  const status = statusOf(random, index, users)
  const person: Person = {
    id: random.uuid(createdAt),
    email: `${asciiOf(name)}.${index}@example.${random.pick(["com", "org", "net"])}`,
    name,
    role: "member",
    status,
    passwordHash: null,
    createdAt,
  }
  const story = new StoryBuilder(random, person, end)
  const later = (from: number) => Math.floor(from + random.next() * (end - from))
  const currency = random.chance(0.65) ? usualCurrency : otherCurrency

  if (status !== "active") {
    story.audit(later(createdAt), actorId, status === "banned" ? "user.banned" : "user.closed", "user", person.id)
  }
  if (random.chance(0.45)) subscribe(story, createdAt, currency)
  if (random.chance(0.12)) story.pack(later(createdAt), random.pick(creditPacks), currency)
  if (random.chance(0.35)) giveKey(story, later(createdAt))
  if (random.chance(0.5)) for (let runs = random.between(1, 6); runs > 0; runs--) story.run(later(createdAt))
  if (random.chance(0.03))
    story.adjustment(later(createdAt), random.pick([50, 200, -20]), random.pick(adjustmentReasons), actorId)
  if (random.chance(0.08)) {
    const [rating, message] = random.pick(opinions)
    story.feedback(later(createdAt), rating, message, actorId)
  }
  return story.finish()
}

function statusOf(random: Random, index: number, users: number): Person["status"] {
  if (index === Math.floor(users / 3)) return "banned"
  if (index === Math.floor(users / 2)) return "closed"
  const draw = random.next()
  return draw < 0.005 ? "banned" : draw < 0.015 ? "closed" : "active"
}

function subscribe(story: StoryBuilder, from: number, currency: string) {
  const { random, end } = story
  const at = Math.floor(from + random.next() * 20 * day)
  if (at >= end) return
  const interval = random.chance(0.8) ? usualInterval : otherInterval
  const plan = planOf(popularity[random.between(0, popularity.length - 1)] ?? plans[0], interval, currency)
  const endedAt = story.subscription(at, plan, interval === "month" ? 0.06 : 0.3)
  if (endedAt !== undefined && endedAt < end - 60 * day && random.chance(0.2)) {
    story.subscription(endedAt + random.between(10, 50) * day, plan, 0.04)
  }
}

function giveKey(story: StoryBuilder, at: number) {
  const { random, end } = story
  const characters = Array.from({ length: 43 }, () => base62.charAt(random.between(0, 61))).join("")
  const draw = random.next()
  const fate =
    draw < 0.15
      ? { revokedAt: Math.floor(at + random.next() * (end - at)) }
      : draw < 0.6
        ? { expiresAt: at + 90 * day }
        : {}
  story.key(at, "user", random.pick(keyNames), secretOf(kinds.user.prefix, characters), fate)
}

/** The demo accounts. The member has enough data for every page. */
export function demoStories(random: Random, end: number, passwordHash: string): Story[] {
  return demoAccounts.map(({ role, name, email, surface }, index) => {
    const createdAt = end - span + index * hour
    const person: Person = { id: random.uuid(createdAt), email, name, role, status: "active", passwordHash, createdAt }
    const story = new StoryBuilder(random, person, end)
    if (role !== "member")
      story.audit(createdAt + hour, null, "user.role_changed", "user", person.id, { from: "member", to: role })
    story.key(end - 40 * day, surface, "Demo", demoKey({ email, surface }))
    if (role === "member") addMemberData(story)
    if (role === "admin") story.apart(() => addAdminKeys(story))
    return story.finish()
  })
}

function addMemberData(story: StoryBuilder) {
  const { random, end } = story
  let callers: ReturnType<typeof addLimitedKeys> | undefined
  story.apart(() => {
    callers = addLimitedKeys(story)
  })
  story.subscription(end - 250 * day, planOf(plans[1] ?? plans[0], usualInterval, usualCurrency), 0)
  story.pack(end - 120 * day, creditPacks[0], usualCurrency)
  story.pack(end - 33 * day, creditPacks[1] ?? creditPacks[0], usualCurrency)
  for (let count = 0; count < 60; count++) {
    const at = Math.floor(end - random.next() * 30 * day)
    story.run(at, count % 3 === 0 ? callers?.trial : { key: at < end - day ? callers?.replaced : callers?.successor })
  }
  const old = { revokedAt: end - 90 * day, reason: "not_needed" } as const
  story.key(end - 200 * day, "user", "Old laptop", demoSecret("user", "a"), old)
  story.key(end - 150 * day, "user", "Billing export", demoSecret("user", "b"), { expiresAt: end - 60 * day })
  story.key(end - 80 * day, "user", "Nightly report", demoSecret("user", "c"), { expiresAt: end + 10 * day })
  story.feedback(end - 12 * day, 5, "The run endpoint just works, retries included.")
}

/** One key for each kind of limit, and one that was rotated. @returns the keys that make runs */
function addLimitedKeys(story: StoryBuilder) {
  const { end } = story
  const add = (name: string, letter: string, ages: { created: number; expires: number; used: number }, limits = {}) => {
    const key = story.key(end - ages.created * day, "user", name, demoSecret("user", letter), {
      expiresAt: end + ages.expires * day,
    })
    return Object.assign(key, { last_used_at: iso(end - ages.used * hour), ...limits })
  }
  add("Dashboard", "d", { created: 70, expires: 20, used: 3 }, { scopes: ["read"] })
  const networks = ["203.0.113.0/24", "2001:db8::/32"]
  add("Office server", "e", { created: 50, expires: 40, used: 1 }, { allowed_cidrs: networks, requests_per_minute: 60 })
  const replaced = add("Shop backend", "f", { created: 60, expires: 6, used: 2 })
  const successor = add("Shop backend", "g", { created: 1, expires: 89, used: 1 }, { root_id: String(replaced.id) })
  replaced.successor_id = String(successor.id)
  const rotation = { surface: "user", start: replaced.start, successorId: String(successor.id), grace: "7d" }
  story.audit(end - day, story.person.id, "api_key.rotated", "api_key", String(replaced.id), rotation)
  const trial = add("Trial project", "h", { created: 35, expires: 55, used: 5 })
  return { replaced, successor, trial: { key: trial, spending: story.cap(trial, 500) } }
}

/** One key with few permissions, and one that leaked: see seed-requests.ts. */
function addAdminKeys(story: StoryBuilder) {
  const { end } = story
  const secret = demoSecret("admin", "a")
  const key = story.key(end - 20 * day, "admin", "Revenue report", secret, { expiresAt: end + 70 * day })
  Object.assign(key, { scopes: ["admin.access", "billing.read"], last_used_at: iso(end - 4 * hour) })
  const leaked = story.key(end - 26 * day + 9 * hour, "admin", "Nightly export", demoSecret("admin", "b"), {
    expiresAt: end + 64 * day,
    revokedAt: end - 3 * day + 15 * hour + 41 * minute,
    reason: "leaked",
  })
  leaked.scopes = ["users.read", "billing.read", "email.read"]
}

/** The key of an example that nothing prints. */
function demoSecret(surface: Surface, letter: string): string {
  return secretOf(kinds[surface].prefix, letter.repeat(43))
}

export function waitlist(random: Random, end: number, entries: number): Row[] {
  return Array.from({ length: entries }, (_, index) => {
    const at = Math.floor(end - span + span * ((index + random.next()) / entries) ** 0.7)
    const status = random.pick(["waiting", "waiting", "invited", "joined"])
    const invitedAt = Math.min(at + 5 * day, end)
    return {
      id: random.uuid(at),
      email: `waiting.${index}@example.org`,
      note: random.chance(0.4) ? random.pick(waitlistNotes) : null,
      source: random.pick(["landing", "blog", "friend", "conference"]),
      status,
      created_at: iso(at),
      invited_at: status === "waiting" ? null : iso(invitedAt),
    }
  })
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}

function asciiOf(name: string): string {
  return name
    .normalize("NFKD")
    .replaceAll(/[^A-Za-z ]/g, "")
    .toLowerCase()
    .replaceAll(" ", ".")
}

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

const firstNames = [
  ...([
    "Aisha",
    "Akira",
    "Alejandro",
    "Amara",
    "Anna",
    "Beatriz",
    "Björn",
    "Chiara",
    "Chen",
    "Daniel",
    "Elif",
  ] as const),
  ...(["Emma", "Fatima", "Gabriel", "Hana", "Ingrid", "Ivan", "Jonas", "José", "Kofi", "Lars", "Léa", "Liam"] as const),
  ...([
    "Mei",
    "Mateo",
    "Nadia",
    "Noah",
    "Olu",
    "Priya",
    "Rosa",
    "Sanjay",
    "Sofia",
    "Tomáš",
    "Wei",
    "Yara",
    "Zoë",
  ] as const),
] as const
const lastNames = [
  ...(["Adeyemi", "Andersen", "Bauer", "Castro", "Costa", "Dubois", "Evans", "Fischer", "García", "Haddad"] as const),
  ...(["Ivanova", "Jensen", "Kaya", "Kim", "Kovács", "Kowalski", "Li", "López", "Martin", "Mensah", "Moreau"] as const),
  ...([
    "Müller",
    "Nakamura",
    "Novák",
    "Okafor",
    "Patel",
    "Rossi",
    "Sato",
    "Schmidt",
    "Silva",
    "Singh",
    "Wang",
  ] as const),
] as const
const keyNames = ["Production", "Staging", "Laptop", "Nightly report", "CI", "Notebook"] as const
const adjustmentReasons = ["Outage on our side", "Goodwill", "Correction of a double grant"] as const
const opinions = [
  [5, "Does what it says, and the errors tell me what to do."],
  [4, "Good. I would like weekly summaries by email."],
  [3, "The docs took me a while, then it was easy."],
  [2, "I ran out of credits sooner than I expected."],
  [1, "My card was refused twice without a reason."],
] as const
const waitlistNotes = ["We are 12 people.", "Need it for reporting.", "Can I import old data?"] as const
