/** A payment or a subscription at the provider. */
export type Concern = { kind: "payment" | "subscription"; id: string }

/** Amounts are in minor units. `refunded` and `disputed` are sums, and may fall: a refund fails, a dispute is won. */
export type Payment = {
  /** Of its invoice, if it has one; otherwise its own. */
  id: string
  /** The account that checkout named; null for a purchase made in the provider's dashboard. */
  account: string | null
  customer: string | null
  /** Of a pack of credits. */
  order: string | null
  subscription: string | null
  /** When the invoice was made. */
  plan: string | null
  description: string
  amount: number
  currency: string
  /** Of an invoice: also negative, for the unused time of a plan that was left. */
  lines: { plan: string | null; amount: number }[]
  createdAt: Date
  paidAt: Date | null
  failedAt: Date | null
  refunded: number
  /** Withheld now, by a dispute that is open or lost. */
  disputed: number
  /** Of the provider's dashboard. */
  url: string
}

export type Subscription = {
  id: string
  account: string | null
  customer: string
  /** `incomplete` has never started: its first payment is open, or has failed for good. */
  status: "incomplete" | "trialing" | "active" | "past_due" | "canceled"
  /** Oldest first; the last one holds now. */
  plans: { plan: string; amount: number; currency: string; interval: "month" | "year"; since: Date }[]
  /** The plan from the next period on, if it differs. */
  next: string | null
  createdAt: Date
  periodStart: Date
  periodEnd: Date
  cancelAtPeriodEnd: boolean
  canceledAt: Date | null
  url: string
}

export type StartedSubscription = Subscription & { status: Exclude<Subscription["status"], "incomplete"> }

export type Line = { name: string; amount: number; currency: string; interval?: "month" | "year" }

export type CheckoutOrder = {
  id: string
  account: string
  email: string
  customer: string | null
  line: Line
  plan: string | null
  credits: number
  returnTo: string
  saveCard: boolean
}

/** It moves money and reports facts; it has no database. Errors are in ./errors. */
export interface PaymentProvider {
  name: "stripe"
  checkout(order: CheckoutOrder): Promise<{ url: string }>
  /** Closes a checkout that is not paid, by its address. */
  leave(url: string): Promise<void>
  /** @returns null for a customer that was deleted at the provider */
  portal(customer: string, returnTo: string): Promise<{ url: string } | null>
  /** @throws InvalidEvent */
  verify(raw: Uint8Array, headers: Headers): { eventId: string; concerns: Concern[] }
  /**
   * A payment is also found by its checkout.
   * @returns null for one that it does not know, or that is not one yet
   */
  fetch(kind: "payment", id: string): Promise<Payment | null>
  fetch(kind: "subscription", id: string): Promise<Subscription | null>
  refund(payment: string, amount: number, idempotencyKey: string): Promise<void>
  /** `never` resumes a subscription that would end. */
  cancel(subscription: string, at: "now" | "period_end" | "never"): Promise<void>
  /** @returns the id of the payment that a change now has made. @throws PaymentDeclined */
  change(subscription: string, to: Line & { plan: string }, at: "now" | "period_end"): Promise<string | null>
  /** Without the customer, with the saved card. @returns the id of the payment. @throws PaymentDeclined */
  charge(order: CheckoutOrder, idempotencyKey: string): Promise<string>
  /** The id of the card that `charge` uses. */
  card(customer: string): Promise<string | null>
  /** Deletes the customer, if it exists. */
  forget(customer: string): Promise<void>
  changed(since: Date): AsyncIterable<Concern>
}
