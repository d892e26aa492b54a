import type Stripe from "stripe"
import type { Concern, Payment, Subscription } from "./provider"

// Facts of Stripe's objects; ./stripe acts.

/** @param dashboard the address of Stripe's dashboard */
export function readFacts(stripe: Stripe, dashboard: string) {
  /** Also of a checkout, to which the customer returns before the first event arrives. */
  async function payment(id: string): Promise<Payment | null> {
    if (id.startsWith("cs_")) {
      const { invoice, payment_intent } = await stripe.checkout.sessions.retrieve(id)
      const made = idOf(invoice) ?? idOf(payment_intent)
      return made ? payment(made) : null
    }
    const ofIntent = { payment: { type: "payment_intent", payment_intent: id } }
    const invoiceId = id.startsWith("in_") ? id : idOf((await stripe.invoicePayments.list(ofIntent)).data[0]?.invoice)
    if (!invoiceId) return paymentOf([await stripe.paymentIntents.retrieve(id, { expand: ["latest_charge"] })], null)
    const invoice = await stripe.invoices.retrieve(invoiceId)
    if (invoice.status === "draft") return null
    const expand = ["data.payment.payment_intent.latest_charge"]
    const payments = await all(stripe.invoicePayments.list({ invoice: invoiceId, limit: 100, expand }))
    return paymentOf(payments.map(({ payment }) => payment.payment_intent).filter(isIntent), invoice)
  }

  async function paymentOf(intents: Stripe.PaymentIntent[], invoice: Stripe.Invoice | null): Promise<Payment | null> {
    const source = invoice ?? intents[0]
    if (!source) return null
    const details = invoice?.parent?.subscription_details
    const metadata = { ...intents[0]?.metadata, ...invoice?.metadata, ...details?.metadata }
    const lines = invoice?.lines.data.map((line) => ({ ...line, plan: planOfLine(line) ?? null })) ?? []
    const sold = lines.filter(({ amount }) => amount >= 0).at(-1)
    const state = { paidAt: null as Date | null, failedAt: null as Date | null, refunded: 0, disputed: 0 }
    for (const { id, status, created, canceled_at, last_payment_error, latest_charge } of intents) {
      const charge = typeof latest_charge === "string" ? null : latest_charge
      const of = { payment_intent: id, limit: 100 }
      if (status === "succeeded") state.paidAt = dateOf(charge?.created ?? created)
      if (canceled_at || last_payment_error) state.failedAt = dateOf(canceled_at ?? charge?.created ?? created)
      // Summed, since a refund may fail later, and a dispute may be won.
      if (charge?.amount_refunded) state.refunded += sum((await all(stripe.refunds.list(of))).filter(isRefund))
      if (charge?.disputed) state.disputed += sum((await all(stripe.disputes.list(of))).filter(isWithheld))
    }
    if (invoice) {
      const { paid_at, voided_at, marked_uncollectible_at } = invoice.status_transitions
      const closedAt = voided_at ?? marked_uncollectible_at
      state.paidAt = invoice.status === "paid" ? dateOf(paid_at ?? invoice.created) : null
      state.failedAt = closedAt ? dateOf(closedAt) : state.failedAt
    }
    return {
      id: source.id,
      account: metadata.account ?? null,
      customer: idOf(source.customer),
      order: metadata.order ?? null,
      subscription: idOf(details?.subscription),
      plan: sold?.plan ?? details?.metadata?.plan ?? null,
      description: sold?.description ?? source.description ?? "",
      amount: invoice?.amount_due ?? intents[0]?.amount ?? 0,
      currency: source.currency,
      lines: lines.map(({ plan, amount }) => ({ plan, amount })),
      createdAt: dateOf(source.created),
      ...state,
      failedAt: state.paidAt ? null : state.failedAt,
      url: `${dashboard}/${invoice ? "invoices" : "payments"}/${source.id}`,
    }
  }

  async function subscription(id: string): Promise<Subscription | null> {
    // First: of a change in between, the item names the new plan, while a newer invoice would precede an old item.
    const invoices = await all(stripe.invoices.list({ subscription: id, limit: 100 }))
    const found = await stripe.subscriptions.retrieve(id, { expand: ["schedule.phases.items.price"] })
    const [item] = found.items.data
    const status = statuses[found.status]
    if (!status || !item) return null
    const schedule = typeof found.schedule === "object" ? found.schedule : null
    const until = schedule?.current_phase?.end_date ?? Number.POSITIVE_INFINITY
    const following = schedule?.phases.find((phase) => phase.start_date >= until)?.items[0]?.price
    const next = typeof following === "object" && "product" in following ? planOf(following.product) : null
    return {
      id,
      account: found.metadata.account ?? null,
      customer: idOf(found.customer) ?? "",
      status,
      plans: await plansOf(invoices, item),
      next: next === planOf(item.price.product) ? null : next,
      createdAt: dateOf(found.created),
      periodStart: dateOf(item.current_period_start),
      periodEnd: dateOf(item.current_period_end),
      cancelAtPeriodEnd: status !== "canceled" && (found.cancel_at_period_end || found.cancel_at !== null),
      canceledAt: status === "canceled" ? dateOf(found.ended_at ?? found.created) : null,
      url: `${dashboard}/subscriptions/${id}`,
    }
  }

  /** From the invoices, whose last line names the plan that it sold, and the item, which names the plan of now. */
  async function plansOf(
    invoices: readonly Stripe.Invoice[],
    { price: current, current_period_start: start }: Stripe.SubscriptionItem,
  ) {
    const sold = invoices
      .filter(({ status }) => status !== "draft" && status !== "void")
      .flatMap(({ lines }) => lines.data.filter(({ amount }) => amount >= 0).at(-1) ?? [])
      .map(({ pricing, period }) => ({ price: idOf(pricing?.price_details?.price), since: period.start }))
      .reverse()
    const plans: Subscription["plans"] = []
    for (const { price: id, since } of [...sold, { price: current.id, since: start }]) {
      if (!id) continue
      const { product, currency, unit_amount, recurring } =
        id === current.id ? current : await stripe.prices.retrieve(id)
      if (plans.at(-1)?.plan === planOf(product)) continue
      const interval = recurring?.interval === "year" ? "year" : "month"
      plans.push({ plan: planOf(product), amount: unit_amount ?? 0, currency, interval, since: dateOf(since) })
    }
    return plans
  }

  /** Objects made since then, and older ones to which something happened in the 30 days for which events are kept. */
  async function* changed(since: Date): AsyncGenerator<Concern> {
    const made = { created: { gte: Math.floor(since.getTime() / 1000) }, limit: 100 }
    const seen = new Set<string>()
    for await (const { invoice, payment } of stripe.invoicePayments.list(made)) {
      yield* unseen(seen, [{ kind: "payment", id: idOf(invoice) ?? "" }])
      seen.add(`payment ${idOf(payment.payment_intent)}`)
    }
    const lists = [
      () => stripe.invoices.list(made),
      () => stripe.paymentIntents.list(made),
      () => stripe.refunds.list(made),
      () => stripe.disputes.list(made),
      () => stripe.subscriptions.list({ ...made, status: "all" }),
    ]
    for (const list of lists) for await (const object of list()) yield* unseen(seen, concernsOf(object))
    const events = stripe.events.list({ ...made, types: changes })
    for await (const { data } of events) yield* unseen(seen, concernsOf(data.object))
  }

  return { payment, subscription, changed }
}

/** Of objects that were made earlier. */
const changes = [
  ...["customer.subscription.updated", "customer.subscription.deleted", "payment_intent.succeeded", "refund.failed"],
  ...["charge.dispute.closed", "charge.dispute.funds_reinstated", "invoice.paid", "invoice.voided"],
]

async function all<Item>(list: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = []
  for await (const item of list) items.push(item)
  return items
}

function unseen(seen: Set<string>, concerns: readonly Concern[]): Concern[] {
  return concerns.filter(({ kind, id }) => !seen.has(`${kind} ${id}`) && seen.add(`${kind} ${id}`))
}

const statuses: Record<string, Subscription["status"] | undefined> = {
  trialing: "trialing",
  active: "active",
  past_due: "past_due",
  unpaid: "past_due",
  paused: "past_due",
  canceled: "canceled",
  incomplete: "incomplete",
  incomplete_expired: "incomplete",
}

type Reference = string | { id?: string } | null | undefined

export function idOf(reference: Reference): string | null {
  return (typeof reference === "string" ? reference : reference?.id) ?? null
}

function dateOf(seconds: number): Date {
  return new Date(seconds * 1000)
}

/** Without the slug before it; a product of Stripe's dashboard, such as `prod_T8a`, has none. */
export function planOf(product: Reference): string {
  const id = idOf(product) ?? ""
  return /^prod_[^_]+$/.test(id) ? id : id.replace(/^[^_]*_/, "")
}

function planOfLine({ pricing }: Stripe.InvoiceLineItem): string | null {
  const product = pricing?.price_details?.product
  return product ? planOf(product) : null
}

function isIntent(payment: string | Stripe.PaymentIntent | undefined): payment is Stripe.PaymentIntent {
  return typeof payment === "object"
}

function sum(items: readonly { amount: number }[]): number {
  return items.reduce((total, { amount }) => total + amount, 0)
}

/** Pending ones arrive, unless they fail. */
function isRefund({ status }: Stripe.Refund): boolean {
  return status !== "failed" && status !== "canceled"
}

/** An inquiry, whose status begins with `warning`, withholds nothing; a prevented dispute was refunded instead. */
function isWithheld({ status }: Stripe.Dispute): boolean {
  return status !== "won" && status !== "prevented" && !status.startsWith("warning")
}

/** The payment and the subscription that an object is about, if it is about one. */
export function concernsOf(given: Stripe.Event["data"]["object"]): Concern[] {
  switch (given.object) {
    case "payment_intent":
      return concerns(given, null)
    case "charge":
    case "refund":
    case "dispute":
      return concerns(given.payment_intent, null)
    case "invoice_payment":
      return concerns(given.invoice, null)
    case "invoice":
      // A draft, which a renewal is for an hour, is no payment yet: its event would wait for that long.
      return concerns(given.status === "draft" ? null : given, given.parent?.subscription_details?.subscription)
    case "subscription":
      return concerns(null, given)
    case "subscription_schedule":
      return concerns(null, given.subscription ?? given.released_subscription)
    case "checkout.session":
      return concerns(given.invoice ?? given.payment_intent, given.subscription)
    default:
      return []
  }
}

function concerns(payment: Reference, subscription: Reference): Concern[] {
  const named = [
    { kind: "payment", of: payment },
    { kind: "subscription", of: subscription },
  ] as const
  // A preview of an invoice has no id. An id that is no text is left to the check of all ids.
  return named.flatMap(({ kind, of }) => {
    const id = of && typeof of === "object" ? of.id : of
    return id === undefined || id === null ? [] : { kind, id }
  })
}
