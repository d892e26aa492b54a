import { randomUUID } from "node:crypto"
import { InvalidEvent, PaymentDeclined } from "./errors"
import type { CheckoutOrder, Concern, Line, Payment, PaymentProvider, Subscription } from "./provider"

// A provider for tests. It speaks either of two dialects: one has refunds and disputes, the other has adjustments, which
// return money for any reason and can be reversed. The interface hides the difference.

type Dialect = "refunds" | "adjustments"

type Returned =
  | { kind: "refund" | "dispute"; amount: number; status: "done" | "failed" | "open" | "won" | "lost" }
  | { kind: "adjustment"; for: "customer" | "bank"; amount: number; reversed: boolean }

type StoredPayment = Omit<Payment, "refunded" | "disputed"> & { returned: Returned[] }

export type ReceivedEvent = { eventId: string; concerns: Concern[] }

const url = "https://dashboard.example"

export class ProviderInMemory implements PaymentProvider {
  readonly name = "stripe"
  readonly payments = new Map<string, StoredPayment>()
  readonly subscriptions = new Map<string, Subscription>()
  /** Other ids of payments, as an invoice's payment has. */
  readonly invoices = new Map<string, string>()
  readonly events: ReceivedEvent[] = []
  readonly forgotten: string[] = []
  readonly left: string[] = []
  /** The saved card of each customer. */
  readonly cards = new Map<string, string>()
  readonly checkouts = new Map<string, CheckoutOrder>()
  readonly refundKeys = new Set<string>()
  /** Thrown by every call while it is set. */
  failure: Error | undefined
  /** Of a saved card. */
  declines = false
  fetches = 0
  private readonly changes: { at: Date; concern: Concern }[] = []

  constructor(private readonly dialect: Dialect = "refunds") {}

  /** Adds a payment, or changes one. */
  put(payment: Partial<StoredPayment> & { id: string }): ReceivedEvent {
    const former = this.payments.get(payment.id)
    this.payments.set(payment.id, { ...(former ?? emptyPayment()), ...payment })
    return this.announce({ kind: "payment", id: payment.id })
  }

  putSubscription(subscription: Partial<Subscription> & { id: string }): ReceivedEvent {
    const former = this.subscriptions.get(subscription.id)
    this.subscriptions.set(subscription.id, { ...(former ?? emptySubscription()), ...subscription })
    return this.announce({ kind: "subscription", id: subscription.id })
  }

  return(id: string, amount: number): ReceivedEvent {
    const isAdjustment = this.dialect === "adjustments"
    this.payment(id).returned.push(
      isAdjustment
        ? { kind: "adjustment", for: "customer", amount, reversed: false }
        : { kind: "refund", amount, status: "done" },
    )
    return this.announce({ kind: "payment", id })
  }

  /** The last refund did not reach the customer. */
  failRefund(id: string): ReceivedEvent {
    const last = this.payment(id).returned.findLast(
      (returned) => returned.kind === "refund" || (returned.kind === "adjustment" && returned.for === "customer"),
    )
    if (last?.kind === "adjustment") last.reversed = true
    else if (last) last.status = "failed"
    return this.announce({ kind: "payment", id })
  }

  dispute(id: string): ReceivedEvent {
    const { amount } = this.payment(id)
    this.payment(id).returned.push(
      this.dialect === "adjustments"
        ? { kind: "adjustment", for: "bank", amount, reversed: false }
        : { kind: "dispute", amount, status: "open" },
    )
    return this.announce({ kind: "payment", id })
  }

  endDispute(id: string, status: "won" | "lost"): ReceivedEvent {
    for (const returned of this.payment(id).returned) {
      if (returned.kind === "dispute") returned.status = status
      if (returned.kind === "adjustment" && returned.for === "bank") returned.reversed = status === "won"
    }
    return this.announce({ kind: "payment", id })
  }

  async checkout(order: CheckoutOrder) {
    this.respond()
    this.checkouts.set(order.id, order)
    return { url: `${url}/checkout/${order.id}` }
  }

  async leave(url: string) {
    this.respond()
    this.left.push(url)
  }

  async portal(customer: string) {
    this.respond()
    return { url: `${url}/portal/${customer}` }
  }

  verify(raw: Uint8Array, headers: Headers): ReceivedEvent {
    if (headers.get("signature") !== "valid") throw new InvalidEvent("The signature is wrong.")
    return JSON.parse(Buffer.from(raw).toString())
  }

  fetch(kind: "payment", id: string): Promise<Payment | null>
  fetch(kind: "subscription", id: string): Promise<Subscription | null>
  async fetch(kind: Concern["kind"], id: string): Promise<Payment | Subscription | null> {
    this.respond()
    this.fetches++
    if (kind === "subscription") return structuredClone(this.subscriptions.get(id) ?? null)
    const payment = this.payments.get(this.invoices.get(id) ?? id)
    return payment ? factsOf(payment) : null
  }

  async refund(payment: string, amount: number, idempotencyKey: string) {
    this.respond()
    if (this.refundKeys.has(idempotencyKey)) return
    this.refundKeys.add(idempotencyKey)
    this.return(payment, amount)
  }

  async cancel(id: string, at: "now" | "period_end" | "never") {
    this.respond()
    const changed = at === "now" ? ({ status: "canceled", canceledAt: new Date() } as const) : {}
    this.putSubscription({ id, ...changed, cancelAtPeriodEnd: at === "period_end" })
  }

  async change(id: string, { plan }: Line & { plan: string }) {
    this.respond()
    this.putSubscription({ id, next: plan })
    return null
  }

  async charge(order: CheckoutOrder, idempotencyKey: string) {
    this.respond()
    if (this.declines) throw new PaymentDeclined("Your card was declined.", true)
    const { account, line } = order
    const id = `pi_${idempotencyKey}`
    if (this.payments.has(id)) return id
    this.put({
      id,
      ...{ account, order: order.id, amount: line.amount, currency: line.currency },
      paidAt: new Date(),
    })
    return id
  }

  async card(customer: string) {
    this.respond()
    return this.cards.get(customer) ?? null
  }

  async forget(customer: string) {
    this.respond()
    this.forgotten.push(customer)
  }

  async *changed(since: Date) {
    this.respond()
    for (const { at, concern } of this.changes) if (at >= since) yield concern
  }

  private respond(): void {
    if (this.failure) throw this.failure
  }

  private payment(id: string): StoredPayment {
    const payment = this.payments.get(id)
    if (!payment) throw new Error(`There is no payment ${id}.`)
    return payment
  }

  private announce(concern: Concern): ReceivedEvent {
    const event = { eventId: `evt_${randomUUID()}`, concerns: [concern] }
    this.events.push(event)
    this.changes.push({ at: new Date(), concern })
    return event
  }
}

function factsOf({ returned, ...payment }: StoredPayment): Payment {
  const sum = (isCounted: (of: Returned) => boolean) =>
    returned.filter(isCounted).reduce((sum, { amount }) => sum + amount, 0)
  return structuredClone({
    ...payment,
    refunded: sum((of) =>
      of.kind === "adjustment" ? of.for === "customer" && !of.reversed : of.kind === "refund" && of.status === "done",
    ),
    disputed: sum((of) =>
      of.kind === "adjustment" ? of.for === "bank" && !of.reversed : of.kind === "dispute" && of.status !== "won",
    ),
  })
}

function emptyPayment(): Omit<StoredPayment, "id"> {
  return {
    ...{ account: null, customer: null, order: null, subscription: null, plan: null, lines: [], url },
    ...{ description: "500 credits", amount: 1_500, currency: "usd" },
    createdAt: new Date(),
    paidAt: null,
    failedAt: null,
    returned: [],
  }
}

function emptySubscription(): Omit<Subscription, "id"> {
  const periodStart = new Date()
  return {
    ...{ account: null, customer: "cus_unknown", status: "active", plans: [], next: null, url },
    ...{ createdAt: periodStart, periodStart, periodEnd: new Date(periodStart.getTime() + 30 * 86_400_000) },
    cancelAtPeriodEnd: false,
    canceledAt: null,
  }
}
