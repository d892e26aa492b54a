import type { Invoice, InvoiceLine, PaymentMethod, Phase, Price, Product, Schedule, Subscription } from "./objects"
import { addIntent, confirm, methodOf, throwFailure } from "./payments"
import { refuse, type World } from "./world"

// Products, prices, subscriptions with their invoices and schedules, and everything that is due at a time.

const day = 86_400

/** Days after which a renewal that failed is tried again; after the last one the subscription ends. */
const retries = [3, 5, 7]

export function addProduct(world: World, given: Partial<Product> & Pick<Product, "name">): Product {
  const id = given.id ?? world.id("product")
  if (world.find("product", id)) refuse(`Product already exists.`, { code: "resource_already_exists", param: "id" })
  const product = world.add<Product>({
    object: "product",
    active: true,
    created: world.now(),
    default_price: null,
    description: null,
    livemode: false,
    metadata: {},
    tax_code: null,
    type: "service",
    updated: world.now(),
    ...given,
    id,
  })
  world.emit("product.created", product)
  return product
}

export type Terms = Pick<Price, "product" | "currency" | "unit_amount" | "tax_behavior"> & {
  interval: "month" | "year" | null
}

export function addPrice(world: World, { interval, ...terms }: Terms): Price {
  world.get("product", terms.product, "price_data[product]")
  const price = world.add<Price>({
    id: world.id("price"),
    object: "price",
    active: true,
    billing_scheme: "per_unit",
    created: world.now(),
    livemode: false,
    metadata: {},
    recurring: interval && {
      interval,
      interval_count: 1,
      meter: null,
      trial_period_days: null,
      usage_type: "licensed",
    },
    type: interval ? "recurring" : "one_time",
    unit_amount_decimal: String(terms.unit_amount),
    ...terms,
  })
  world.emit("price.created", price)
  return price
}

/** The same day of a later month, or the last one of a shorter month. */
export function addMonths(time: number, months: number): number {
  const date = new Date(time * 1000)
  const dayOfMonth = date.getUTCDate()
  date.setUTCDate(1)
  date.setUTCMonth(date.getUTCMonth() + months)
  const last = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()
  date.setUTCDate(Math.min(dayOfMonth, last))
  return Math.floor(date.getTime() / 1000)
}

/** The end of the period from `start`, counted from the anchor, so that the 31st stays the 31st. */
function periodEnd(anchor: number, start: number, price: Price): number {
  const step = price.recurring?.interval === "year" ? 12 : 1
  for (let months = step; ; months += step) {
    const end = addMonths(anchor, months)
    if (end > start) return end
  }
}

type NewSubscription = {
  customer: string
  price: Price
  metadata: Record<string, string>
  method: PaymentMethod
  managed: boolean
}

/** Starts a subscription whose first invoice is open: `payInvoice` pays it. */
export function addSubscription(
  world: World,
  given: NewSubscription,
): { subscription: Subscription; invoice: Invoice } {
  const { customer, price, metadata, method } = given
  const [id, now] = [world.id("subscription"), world.now()]
  const end = periodEnd(now, now, price)
  const subscription = world.add<Subscription>({
    id,
    object: "subscription",
    billing_cycle_anchor: now,
    billing_mode: { flexible: null, type: "flexible" },
    cancel_at: null,
    cancel_at_period_end: false,
    canceled_at: null,
    cancellation_details: { comment: null, feedback: null, reason: null },
    collection_method: "charge_automatically",
    created: now,
    currency: price.currency,
    customer,
    default_payment_method: method.id,
    ended_at: null,
    items: {
      object: "list",
      data: [
        {
          id: `si_${id.slice(4)}`,
          object: "subscription_item",
          created: now,
          current_period_start: now,
          current_period_end: end,
          metadata: {},
          price,
          quantity: 1,
          subscription: id,
        },
      ],
      has_more: false,
      url: `/v1/subscription_items?subscription=${id}`,
    },
    latest_invoice: null,
    livemode: false,
    managed_payments: { enabled: given.managed },
    metadata,
    schedule: null,
    start_date: now,
    status: "incomplete",
    trial_end: null,
  })
  world.emit("customer.subscription.created", subscription)
  const invoice = addInvoice(world, subscription, "subscription_create", [
    { amount: price.unit_amount, price, start: now, end, proration: false },
  ])
  return { subscription, invoice }
}

export function itemOf(subscription: Subscription): Subscription["items"]["data"][number] {
  const [item] = subscription.items.data
  if (!item) throw new Error(`${subscription.id} has no item.`)
  return item
}

type Charge = { amount: number; price: Price; start: number; end: number; proration: boolean }

/** A finalized invoice, which uses the credit balance of the customer. Stripe leaves the draft of a renewal for an hour. */
function addInvoice(
  world: World,
  subscription: Subscription,
  reason: Invoice["billing_reason"],
  charges: Charge[],
): Invoice {
  const id = world.id("invoice")
  const now = world.now()
  const total = charges.reduce((sum, { amount }) => sum + amount, 0)
  const customer = world.get("customer", subscription.customer)
  // A negative balance is credit: an invoice below zero adds to it, a later one uses it.
  const before = customer.balance
  const used = Math.max(0, Math.min(total, -before))
  customer.balance = before + used + Math.min(0, total)
  const due = Math.max(0, total - used)
  const invoice = world.add<Invoice>({
    id,
    object: "invoice",
    amount_due: due,
    amount_paid: 0,
    amount_remaining: due,
    attempt_count: 0,
    attempted: false,
    auto_advance: true,
    billing_reason: reason,
    collection_method: "charge_automatically",
    created: now,
    currency: subscription.currency,
    customer: subscription.customer,
    customer_email: customer.email,
    description: null,
    ending_balance: customer.balance,
    hosted_invoice_url: `${world.origin}/invoices/${id}`,
    lines: {
      object: "list",
      data: charges.map((charge, index) => line(world, subscription, id, index, charge)),
      has_more: false,
      url: `/v1/invoices/${id}/lines`,
    },
    livemode: false,
    metadata: {},
    next_payment_attempt: null,
    number: `STAND-IN-${String(world.number()).padStart(4, "0")}`,
    parent: {
      quote_details: null,
      subscription_details: { metadata: { ...subscription.metadata }, subscription: subscription.id },
      type: "subscription_details",
    },
    period_end: now,
    period_start: now,
    starting_balance: before,
    status: "draft",
    status_transitions: { finalized_at: null, marked_uncollectible_at: null, paid_at: null, voided_at: null },
    subtotal: total,
    total,
  })
  subscription.latest_invoice = id
  world.emit("invoice.created", invoice)
  invoice.status = "open"
  invoice.status_transitions.finalized_at = now
  world.emit("invoice.finalized", invoice)
  return invoice
}

function line(
  world: World,
  subscription: Subscription,
  invoice: string,
  index: number,
  { amount, price, start, end, proration }: Charge,
): InvoiceLine {
  const { name } = world.get("product", price.product)
  const text = proration ? `${amount < 0 ? "Unused" : "Remaining"} time on ${name}` : `1 × ${name}`
  return {
    id: `il_${invoice.slice(3)}_${index}`,
    object: "line_item",
    amount,
    currency: price.currency,
    description: text,
    invoice,
    livemode: false,
    metadata: { ...subscription.metadata },
    parent: {
      invoice_item_details: null,
      subscription_item_details: {
        invoice_item: null,
        proration,
        proration_details: { credited_items: null },
        subscription: subscription.id,
        subscription_item: itemOf(subscription).id,
      },
      type: "subscription_item_details",
    },
    period: { start, end },
    pricing: {
      price_details: { price: price.id, product: price.product },
      type: "price_details",
      unit_amount_decimal: price.unit_amount_decimal,
    },
    quantity: 1,
    subscription: subscription.id,
    subtotal: amount,
  }
}

/** Charges an open invoice; its subscription is active then, or past due. */
export function payInvoice(
  world: World,
  invoice: Invoice,
  method: PaymentMethod | undefined,
  presence: "off_session" | "authenticated" = "off_session",
): void {
  const subscription = world.get("subscription", invoice.parent.subscription_details.subscription)
  invoice.attempted = true
  const intent = invoice.amount_due > 0 ? intentOf(world, invoice) : undefined
  if (intent) invoice.attempt_count += 1
  if (intent && method) confirm(world, intent, method, presence)
  if (!intent || intent.status === "succeeded") paid(world, invoice, subscription)
  // A bank needs days: Stripe lets the subscription start.
  else if (intent.status === "processing") change(world, subscription, { status: "active" })
  else unpaid(world, invoice, subscription)
}

function intentOf(world: World, invoice: Invoice): ReturnType<typeof addIntent> {
  const known = paymentOf(world, invoice)
  if (known) return world.get("payment_intent", known.payment.payment_intent)
  const { amount_due: amount, currency, customer } = invoice
  const description = invoice.billing_reason === "subscription_create" ? "Subscription creation" : "Subscription update"
  const intent = addIntent(world, { amount, currency, customer, description, metadata: {} })
  world.add({
    id: world.id("invoice_payment"),
    object: "invoice_payment",
    amount_paid: null,
    amount_requested: amount,
    created: world.now(),
    currency,
    invoice: invoice.id,
    is_default: true,
    livemode: false,
    payment: { type: "payment_intent", payment_intent: intent.id },
    status: "open",
    status_transitions: { canceled_at: null, paid_at: null },
  })
  return intent
}

function paymentOf(world: World, invoice: Invoice) {
  return world.all("invoice_payment").find((payment) => payment.invoice === invoice.id)
}

function paid(world: World, invoice: Invoice, subscription: Subscription): void {
  const payment = paymentOf(world, invoice)
  const now = world.now()
  if (payment) {
    payment.amount_paid = invoice.amount_due
    payment.status = "paid"
    payment.status_transitions.paid_at = now
  }
  Object.assign(invoice, { amount_paid: invoice.amount_due, amount_remaining: 0, next_payment_attempt: null })
  invoice.status = "paid"
  invoice.status_transitions.paid_at = now
  if (payment) world.emit("invoice_payment.paid", payment)
  world.emit("invoice.paid", invoice)
  world.emit("invoice.payment_succeeded", invoice)
  if (subscription.status !== "active" && subscription.status !== "canceled")
    change(world, subscription, { status: "active" })
}

function unpaid(world: World, invoice: Invoice, subscription: Subscription): void {
  const wait = retries[invoice.attempt_count - 1]
  invoice.next_payment_attempt = wait && subscription.status !== "incomplete" ? world.now() + wait * day : null
  world.emit("invoice.payment_failed", invoice)
  if (subscription.status === "incomplete" || subscription.status === "canceled") return
  if (invoice.next_payment_attempt) change(world, subscription, { status: "past_due" })
  else end(world, subscription, "payment_failed")
}

/** A bank paid an invoice, or refused. */
export function settleInvoice(world: World, intentId: string): void {
  const payment = world.all("invoice_payment").find(({ payment }) => payment.payment_intent === intentId)
  if (!payment) return
  const invoice = world.get("invoice", payment.invoice)
  const subscription = world.get("subscription", invoice.parent.subscription_details.subscription)
  if (world.get("payment_intent", intentId).status === "succeeded") paid(world, invoice, subscription)
  else unpaid(world, invoice, subscription)
}

/** Changes a subscription; the event has the values before. */
export function change(world: World, subscription: Subscription, to: Partial<Subscription>): void {
  const before = Object.fromEntries(Object.keys(to).map((name) => [name, subscription[name as keyof Subscription]]))
  Object.assign(subscription, to)
  world.emit("customer.subscription.updated", subscription, structuredClone(before))
}

export function end(world: World, subscription: Subscription, reason: string): void {
  const now = world.now()
  subscription.status = "canceled"
  subscription.ended_at = now
  subscription.canceled_at ??= now
  subscription.cancellation_details.reason = reason
  const schedule = scheduleOf(world, subscription)
  if (schedule) Object.assign(schedule, { status: "canceled", canceled_at: now, current_phase: null })
  if (schedule) world.emit("subscription_schedule.canceled", schedule)
  for (const invoice of world.all("invoice"))
    if (invoice.parent.subscription_details.subscription === subscription.id) invoice.next_payment_attempt = null
  world.emit("customer.subscription.deleted", subscription)
}

export function scheduleOf(world: World, { schedule }: Subscription): Schedule | undefined {
  return schedule ? world.find("subscription_schedule", schedule) : undefined
}

type Change = {
  price: Price
  metadata: Record<string, string>
  prorates: boolean
  /** The period starts again now. */
  restarts: boolean
  /** Refuses a change that cannot be paid now. */
  mustPay: boolean
}

/** @throws ApiError of status 402 if it must be paid and is not */
export function changePrice(world: World, subscription: Subscription, { price, metadata, ...how }: Change): void {
  const item = itemOf(subscription)
  const now = world.now()
  const { current_period_start: start, current_period_end: until } = item
  const share = (until - now) / (until - start)
  const end = how.restarts ? periodEnd(now, now, price) : until
  const full = how.restarts || price.recurring?.interval !== item.price.recurring?.interval
  const amount = full ? price.unit_amount : Math.round(price.unit_amount * share)
  const charges = [
    { amount: -Math.round(item.price.unit_amount * share), price: item.price, start: now, end: until, proration: true },
    { amount, price, start: now, end, proration: !full },
  ]
  const method = methodFor(world, subscription)
  const total = charges.reduce((sum, charge) => sum + charge.amount, 0)
  // Stripe undoes a change that cannot be paid; here the card is tried first.
  if (how.mustPay && how.prorates && total > 0) tryCard(world, subscription, method, total)
  const to = { metadata, ...(how.restarts && { billing_cycle_anchor: now }) }
  Object.assign(item, { price, ...(full && { current_period_start: now, current_period_end: end }) })
  change(world, subscription, to)
  if (how.prorates) payInvoice(world, addInvoice(world, subscription, "subscription_update", charges), method)
}

function tryCard(
  world: World,
  { currency, customer }: Subscription,
  method: PaymentMethod | undefined,
  amount: number,
) {
  if (!method) refuse("This customer has no attached payment source or default payment method.")
  if (method.card?.last4 === "4242" || method.type !== "card") return
  const intent = addIntent(world, { amount, currency, customer, description: "Subscription update", metadata: {} })
  confirm(world, intent, method, "off_session")
  throwFailure(intent)
}

function methodFor(world: World, subscription: Subscription): PaymentMethod | undefined {
  const own = subscription.default_payment_method
  return own ? world.find("payment_method", own) : methodOf(world, subscription.customer)
}

export function addSchedule(world: World, subscription: Subscription): Schedule {
  if (subscription.schedule) refuse("This subscription already has a schedule.", { param: "from_subscription" })
  const item = itemOf(subscription)
  const [start_date, end_date] = [item.current_period_start, item.current_period_end]
  const schedule = world.add<Schedule>({
    id: world.id("subscription_schedule"),
    object: "subscription_schedule",
    canceled_at: null,
    completed_at: null,
    created: world.now(),
    current_phase: { start_date, end_date },
    customer: subscription.customer,
    end_behavior: "release",
    livemode: false,
    metadata: {},
    phases: [
      {
        start_date,
        end_date,
        items: [{ price: item.price.id, quantity: 1, metadata: {} }],
        metadata: {},
        proration_behavior: "create_prorations",
      },
    ],
    released_at: null,
    released_subscription: null,
    status: "active",
    subscription: subscription.id,
  })
  world.emit("subscription_schedule.created", schedule)
  change(world, subscription, { schedule: schedule.id })
  return schedule
}

export function setPhases(world: World, schedule: Schedule, phases: Phase[]): void {
  const [first] = phases
  if (!first || first.start_date !== schedule.phases[0]?.start_date)
    refuse("The first phase must start when the current one did.", { param: "phases[0][start_date]" })
  schedule.phases = phases
  schedule.current_phase = { start_date: first.start_date, end_date: first.end_date }
  world.emit("subscription_schedule.updated", schedule)
}

export function release(world: World, schedule: Schedule): void {
  if (schedule.status !== "active" || !schedule.subscription)
    refuse("You cannot release a schedule that is not active.")
  const subscription = world.get("subscription", schedule.subscription)
  const released = { released_at: world.now(), released_subscription: subscription.id, subscription: null }
  Object.assign(schedule, { ...released, status: "released", current_phase: null })
  world.emit("subscription_schedule.released", schedule)
  change(world, subscription, { schedule: null })
}

/** The next moment until `until` at which something is due. */
export function nextDue(world: World, until: number): number | undefined {
  const times = [
    ...world
      .all("subscription")
      .filter(isOpen)
      .map((subscription) => itemOf(subscription).current_period_end),
    ...world.all("invoice").flatMap(({ next_payment_attempt: at }) => at ?? []),
    ...world.all("checkout.session").flatMap((session) => (session.status === "open" ? session.expires_at : [])),
  ]
  const due = times.filter((time) => time <= until)
  return due.length > 0 ? Math.min(...due) : undefined
}

const isOpen = ({ status }: Subscription) => status === "active" || status === "past_due"

/** Does all that is due at a moment, to which the clock has been set. */
export function actDue(world: World, at: number): void {
  for (const session of world.all("checkout.session")) {
    if (session.status !== "open" || session.expires_at > at) continue
    Object.assign(session, { status: "expired", url: null })
    world.emit("checkout.session.expired", session)
  }
  for (const invoice of world.all("invoice")) {
    if (invoice.next_payment_attempt === null || invoice.next_payment_attempt > at) continue
    invoice.next_payment_attempt = null
    const subscription = world.get("subscription", invoice.parent.subscription_details.subscription)
    payInvoice(world, invoice, methodFor(world, subscription))
  }
  for (const subscription of world.all("subscription").filter(isOpen))
    if (itemOf(subscription).current_period_end <= at) renew(world, subscription)
}

function renew(world: World, subscription: Subscription): void {
  const item = itemOf(subscription)
  const start = item.current_period_end
  if (subscription.cancel_at !== null && subscription.cancel_at <= start) {
    end(world, subscription, "cancellation_requested")
    return
  }
  const schedule = scheduleOf(world, subscription)
  const phase = schedule?.phases.find((phase) => phase.start_date <= start && start < phase.end_date)
  const price = phase?.items[0] ? world.get("price", phase.items[0].price) : item.price
  const isOther = price.recurring?.interval !== item.price.recurring?.interval
  const anchor = isOther ? start : subscription.billing_cycle_anchor
  item.price = price
  item.current_period_start = start
  item.current_period_end = periodEnd(anchor, start, price)
  const metadata = { ...subscription.metadata, ...phase?.metadata }
  change(world, subscription, { metadata, billing_cycle_anchor: anchor })
  if (schedule && phase) {
    schedule.current_phase = { start_date: phase.start_date, end_date: phase.end_date }
    world.emit("subscription_schedule.updated", schedule)
  }
  if (schedule && !phase) release(world, schedule)
  const charge = { amount: price.unit_amount, price, start, end: item.current_period_end, proration: false }
  payInvoice(world, addInvoice(world, subscription, "subscription_cycle", [charge]), methodFor(world, subscription))
}
