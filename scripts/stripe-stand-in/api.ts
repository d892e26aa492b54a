import type { Basket } from "./checkout"
import { type Form, formOf, formsOf, metadataOf, numberOf, stringsOf, textOf } from "./form"
import type { CheckoutSession, Kind, Phase, PortalSession, Price, Stored, Subscription } from "./objects"
import { addCustomer, addIntent, confirm, refund, throwFailure } from "./payments"
import {
  addMonths,
  addPrice,
  addProduct,
  addSchedule,
  change,
  changePrice,
  end,
  itemOf,
  release,
  scheduleOf,
  setPhases,
} from "./subscriptions"
import { refuse, type World } from "./world"

// The part of Stripe's API that the adapter uses: https://docs.stripe.com/api

export type Context = { world: World; baskets: Map<string, Basket> }

type Route = {
  method: "GET" | "POST" | "DELETE"
  path: RegExp
  /** Others are refused, as Stripe refuses unknown ones; Stripe knows more. */
  parameters: readonly string[]
  act: (context: Context, given: Form, id: string) => unknown
}

const paging = ["limit", "starting_after", "ending_before", "created"]

export const routes: readonly Route[] = [
  read("customers", "customer"),
  read("products", "product"),
  read("prices", "price"),
  read("payment_intents", "payment_intent"),
  read("charges", "charge"),
  read("refunds", "refund"),
  read("disputes", "dispute"),
  read("invoices", "invoice"),
  read("invoice_payments", "invoice_payment"),
  read("subscriptions", "subscription"),
  read("subscription_schedules", "subscription_schedule"),
  read("checkout/sessions", "checkout.session"),
  read("events", "event"),
  list(
    "customers",
    "customer",
    ["email"],
    (customer, given) => !customer.deleted && has(given, "email", customer.email),
  ),
  list("payment_intents", "payment_intent", ["customer"], ({ customer }, given) => has(given, "customer", customer)),
  list("charges", "charge", ["payment_intent"], (one, given) => has(given, "payment_intent", one.payment_intent)),
  list("refunds", "refund", ["payment_intent", "charge"], isOfPayment),
  list("disputes", "dispute", ["payment_intent", "charge"], isOfPayment),
  list(
    "invoices",
    "invoice",
    ["customer", "subscription", "status"],
    (invoice, given) =>
      has(given, "customer", invoice.customer) &&
      has(given, "status", invoice.status) &&
      has(given, "subscription", invoice.parent.subscription_details.subscription),
  ),
  list("invoice_payments", "invoice_payment", ["invoice", "payment", "status"], (one, given) => {
    const payment = formOf(given, "payment")
    return (
      has(given, "invoice", one.invoice) &&
      has(given, "status", one.status) &&
      (!payment || has(payment, "payment_intent", one.payment.payment_intent))
    )
  }),
  list("subscriptions", "subscription", ["customer", "status"], ({ customer, status }, given) => {
    const wanted = textOf(given, "status")
    const isWanted = wanted === undefined ? status !== "canceled" : wanted === "all" || wanted === status
    return has(given, "customer", customer) && isWanted
  }),
  list("checkout/sessions", "checkout.session", ["payment_intent", "customer"], (session, given) => {
    return has(given, "payment_intent", session.payment_intent) && has(given, "customer", session.customer)
  }),
  list("events", "event", ["type", "types"], ({ type }, given) => {
    const types = stringsOf(given, "types")
    return has(given, "type", type) && (types.length === 0 || types.includes(type))
  }),
  {
    method: "GET",
    path: /^\/v1\/customers\/([^/]+)\/payment_methods$/,
    parameters: [...paging, "type"],
    act: ({ world }, given, id) => {
      world.get("customer", id, "customer")
      const own = world.all("payment_method").filter(({ customer }) => customer === id)
      return page(own, given, `/v1/customers/${id}/payment_methods`)
    },
  },
  {
    method: "GET",
    path: /^\/v1\/invoices\/([^/]+)\/lines$/,
    parameters: paging,
    act: ({ world }, given, id) => page(world.get("invoice", id).lines.data, given, `/v1/invoices/${id}/lines`),
  },
  write("customers", ["email", "name", "metadata"], ({ world }, given) =>
    addCustomer(world, {
      email: textOf(given, "email") ?? null,
      name: textOf(given, "name") ?? null,
      metadata: metadataOf(given),
    }),
  ),
  {
    method: "DELETE",
    path: /^\/v1\/customers\/([^/]+)$/,
    parameters: [],
    act: ({ world }, _given, id) => {
      const customer = world.get("customer", id)
      if (customer.deleted) refuse(`No such customer: '${id}'`, { code: "resource_missing", param: "id" })
      for (const subscription of world.all("subscription"))
        if (subscription.customer === id && subscription.status !== "canceled")
          end(world, subscription, "cancellation_requested")
      for (const method of world.all("payment_method")) if (method.customer === id) method.customer = null
      Object.assign(customer, { deleted: true, email: null, name: null })
      world.emit("customer.deleted", customer)
      return { id, object: "customer", deleted: true }
    },
  },
  write("products", ["id", "name", "description", "metadata", "tax_code"], ({ world }, given) => {
    const id = textOf(given, "id")
    return addProduct(world, {
      ...(id && { id }),
      name: required(given, "name"),
      description: textOf(given, "description") ?? null,
      metadata: metadataOf(given),
      tax_code: textOf(given, "tax_code") ?? null,
    })
  }),
  write(
    "checkout/sessions",
    [
      ...["mode", "line_items", "client_reference_id", "customer", "customer_email", "customer_creation", "metadata"],
      ...["payment_intent_data", "subscription_data", "success_url", "cancel_url", "managed_payments"],
    ],
    addSession,
  ),
  writeOne("checkout/sessions", "/expire", [], ({ world }, _given, id) => {
    const session = world.get("checkout.session", id)
    if (session.status !== "open") refuse('Only Checkout Sessions with a status in ["open"] can be expired.')
    Object.assign(session, { status: "expired", url: null })
    world.emit("checkout.session.expired", session)
    return session
  }),
  write("billing_portal/sessions", ["customer", "return_url"], ({ world }, given): PortalSession => {
    const customer = world.get("customer", required(given, "customer"), "customer")
    if (customer.deleted) refuse(`No such customer: '${customer.id}'`, { code: "resource_missing", param: "customer" })
    const id = world.id("billing_portal.session")
    return world.add({
      id,
      object: "billing_portal.session",
      configuration: "bpc_stand_in",
      created: world.now(),
      customer: customer.id,
      livemode: false,
      return_url: textOf(given, "return_url") ?? null,
      url: `${world.origin}/portal/${id}`,
    })
  }),
  write(
    "payment_intents",
    [
      ...["amount", "currency", "customer", "payment_method", "payment_method_types", "off_session", "confirm"],
      ...["metadata", "description"],
    ],
    ({ world }, given) => {
      const customer = required(given, "customer")
      const method = world.get("payment_method", required(given, "payment_method"), "payment_method")
      if (method.customer !== customer)
        refuse("The PaymentMethod does not belong to the Customer.", { param: "payment_method" })
      const intent = addIntent(world, {
        amount: amountOf(given, "amount"),
        currency: required(given, "currency"),
        customer,
        description: textOf(given, "description") ?? null,
        metadata: metadataOf(given),
      })
      if (textOf(given, "confirm") !== "true") return intent
      confirm(world, intent, method, textOf(given, "off_session") === "true" ? "off_session" : "present")
      throwFailure(intent)
      return intent
    },
  ),
  write("refunds", ["payment_intent", "charge", "amount", "reason", "metadata"], ({ world }, given) => {
    const intent = textOf(given, "payment_intent")
    const latest = intent ? world.get("payment_intent", intent, "payment_intent").latest_charge : undefined
    const charge = world.get("charge", latest ?? textOf(given, "charge") ?? "", "charge")
    const amount = textOf(given, "amount") === undefined ? undefined : amountOf(given, "amount")
    return refund(world, charge, amount, { metadata: metadataOf(given) })
  }),
  writeOne(
    "subscriptions",
    "",
    [
      ...["items", "metadata", "proration_behavior", "billing_cycle_anchor", "payment_behavior", "off_session"],
      ...["cancel_at_period_end", "cancel_at", "default_payment_method"],
    ],
    updateSubscription,
  ),
  {
    method: "DELETE",
    path: /^\/v1\/subscriptions\/([^/]+)$/,
    parameters: ["invoice_now", "prorate"],
    act: ({ world }, _given, id) => {
      const subscription = world.get("subscription", id)
      if (subscription.status === "canceled") refuse(`No such subscription: ${id}`, { code: "resource_missing" })
      end(world, subscription, "cancellation_requested")
      return subscription
    },
  },
  write("subscription_schedules", ["from_subscription"], ({ world }, given) => {
    const subscription = world.get("subscription", required(given, "from_subscription"), "from_subscription")
    if (subscription.status === "canceled") refuse("You cannot schedule a canceled subscription.")
    return addSchedule(world, subscription)
  }),
  writeOne("subscription_schedules", "", ["phases", "end_behavior", "proration_behavior"], ({ world }, given, id) => {
    const schedule = world.get("subscription_schedule", id)
    if (schedule.status !== "active") refuse("You can only update a schedule that is active.")
    const behavior = textOf(given, "end_behavior")
    if (behavior === "release" || behavior === "cancel") schedule.end_behavior = behavior
    const phases = formsOf(given, "phases")
    if (phases.length > 0) setPhases(world, schedule, phasesOf(world, phases))
    return schedule
  }),
  writeOne("subscription_schedules", "/release", [], ({ world }, _given, id) => {
    const schedule = world.get("subscription_schedule", id)
    release(world, schedule)
    return schedule
  }),
]

function read<K extends Kind>(name: string, kind: K): Route {
  return {
    method: "GET",
    path: new RegExp(`^/v1/${name}/([^/]+)$`),
    parameters: [],
    act: ({ world }, _given, id) => {
      const found = world.get(kind, id)
      return "deleted" in found && found.deleted ? { id, object: kind, deleted: true } : found
    },
  }
}

function list<K extends Kind>(
  name: string,
  kind: K,
  parameters: readonly string[],
  isWanted: (object: Stored[K], given: Form) => boolean,
): Route {
  return {
    method: "GET",
    path: new RegExp(`^/v1/${name}$`),
    parameters: [...paging, ...parameters],
    act: ({ world }, given) => {
      const found = world.all(kind).filter((object) => isWithin(object.created, given) && isWanted(object, given))
      return page(found, given, `/v1/${name}`)
    },
  }
}

function write(name: string, parameters: readonly string[], act: (context: Context, given: Form) => unknown): Route {
  return { method: "POST", path: new RegExp(`^/v1/${name}$`), parameters, act }
}

function writeOne(name: string, verb: string, parameters: readonly string[], act: Route["act"]): Route {
  return { method: "POST", path: new RegExp(`^/v1/${name}/([^/]+)${verb}$`), parameters, act }
}

function has(given: Form, name: string, value: string | null): boolean {
  const wanted = textOf(given, name)
  return wanted === undefined || wanted === value
}

function isOfPayment(one: { payment_intent: string; charge: string }, given: Form): boolean {
  return has(given, "payment_intent", one.payment_intent) && has(given, "charge", one.charge)
}

function isWithin(created: number, given: Form): boolean {
  const range = formOf(given, "created")
  if (!range) return numberOf(given, "created") === undefined || numberOf(given, "created") === created
  const { gt, gte, lt, lte } = Object.fromEntries(
    ["gt", "gte", "lt", "lte"].map((name) => [name, numberOf(range, name)]),
  )
  return (
    (gt === undefined || created > gt) &&
    (gte === undefined || created >= gte) &&
    (lt === undefined || created < lt) &&
    (lte === undefined || created <= lte)
  )
}

function page<Item extends { id: string }>(all: readonly Item[], given: Form, url: string) {
  const limit = numberOf(given, "limit") ?? 10
  if (limit < 1 || limit > 100) refuse("Limit must be between 1 and 100.", { param: "limit" })
  const [after, before] = [textOf(given, "starting_after"), textOf(given, "ending_before")]
  const index = (id: string) => {
    const found = all.findIndex((item) => item.id === id)
    return found >= 0 ? found : refuse(`No such object: '${id}'`, { code: "resource_missing" })
  }
  const start = after === undefined ? 0 : index(after) + 1
  const end = before === undefined ? all.length : index(before)
  const rest = all.slice(start, end)
  const data = before === undefined ? rest.slice(0, limit) : rest.slice(-limit)
  return { object: "list", data, has_more: rest.length > data.length, url }
}

function required(given: Form, name: string): string {
  const value = textOf(given, name)
  return value || refuse(`Missing required param: ${name}.`, { code: "parameter_missing", param: name })
}

function amountOf(given: Form, name: string): number {
  const amount = numberOf(given, name)
  if (amount === undefined || amount < 0)
    refuse(`Invalid integer: ${textOf(given, name) ?? ""}`, { code: "parameter_invalid_integer", param: name })
  return amount
}

/** A price that exists, or a new one from `price_data`. */
function priceOf(world: World, item: Form): Price {
  const known = textOf(item, "price")
  if (known) return world.get("price", known, "price")
  const data =
    formOf(item, "price_data") ?? refuse("Missing required param: price_data.", { code: "parameter_missing" })
  const productData = formOf(data, "product_data")
  const product = productData
    ? addProduct(world, { name: required(productData, "name"), tax_code: textOf(productData, "tax_code") ?? null }).id
    : required(data, "product")
  const recurring = formOf(data, "recurring")
  const interval = recurring && required(recurring, "interval")
  if (interval && interval !== "month" && interval !== "year") refuse("The stand-in has months and years.")
  return addPrice(world, {
    product,
    currency: required(data, "currency"),
    unit_amount: amountOf(data, "unit_amount"),
    tax_behavior: textOf(data, "tax_behavior") ?? "unspecified",
    interval: interval === "month" || interval === "year" ? interval : null,
  })
}

function addSession({ world, baskets }: Context, given: Form): CheckoutSession {
  const mode = required(given, "mode")
  if (mode !== "payment" && mode !== "subscription") refuse("The stand-in has the modes payment and subscription.")
  const [item, ...others] = formsOf(given, "line_items")
  if (!item || others.length > 0) refuse("The stand-in sells one line at a time.", { param: "line_items" })
  const customer = textOf(given, "customer") ?? null
  if (customer && world.get("customer", customer, "customer").deleted)
    refuse(`No such customer: '${customer}'`, { code: "resource_missing", param: "customer" })
  if (customer && (textOf(given, "customer_email") || textOf(given, "customer_creation")))
    refuse("You may only specify one of these parameters: customer, customer_email, customer_creation.")
  if (mode === "subscription" && (formOf(given, "payment_intent_data") || textOf(given, "customer_creation")))
    refuse("You can not pass `payment_intent_data` or `customer_creation` in `subscription` mode.")
  if (mode === "payment" && formOf(given, "subscription_data"))
    refuse("You can not pass `subscription_data` in `payment` mode.", { param: "subscription_data" })
  const price = priceOf(world, item)
  if ((mode === "subscription") !== (price.recurring !== null))
    refuse("A recurring price needs `subscription` mode, another one `payment` mode.", { param: "mode" })
  const total = price.unit_amount * (numberOf(item, "quantity") ?? 1)
  const creation = textOf(given, "customer_creation") === "always" ? "always" : "if_required"
  const id = world.id("checkout.session")
  const intentData = formOf(given, "payment_intent_data") ?? {}
  baskets.set(id, {
    price,
    description: textOf(intentData, "description") ?? world.get("product", price.product).name,
    intentMetadata: metadataOf(intentData),
    subscriptionMetadata: metadataOf(formOf(given, "subscription_data") ?? {}),
    savesCard: textOf(intentData, "setup_future_usage") === "off_session",
  })
  return world.add({
    id,
    object: "checkout.session",
    amount_subtotal: total,
    amount_total: total,
    cancel_url: textOf(given, "cancel_url") ?? null,
    client_reference_id: textOf(given, "client_reference_id") ?? null,
    created: world.now(),
    currency: price.currency,
    customer,
    customer_creation: mode === "payment" && !customer ? creation : null,
    customer_details: null,
    customer_email: textOf(given, "customer_email") ?? null,
    expires_at: world.now() + 86_400,
    invoice: null,
    livemode: false,
    managed_payments: { enabled: textOf(formOf(given, "managed_payments") ?? {}, "enabled") === "true" },
    metadata: metadataOf(given),
    mode,
    payment_intent: null,
    payment_method_types: ["card", "sepa_debit"],
    payment_status: "unpaid",
    status: "open",
    subscription: null,
    success_url: required(given, "success_url"),
    url: `${world.origin}/checkout/${id}`,
  })
}

function updateSubscription({ world }: Context, given: Form, id: string): Subscription {
  const subscription = world.get("subscription", id)
  if (subscription.status === "canceled") refuse("A canceled subscription can only update its cancellation_details.")
  const atEnd = textOf(given, "cancel_at_period_end")
  const cancelAt = textOf(given, "cancel_at")
  if (atEnd !== undefined && cancelAt !== undefined)
    refuse("You may only specify one of these parameters: cancel_at, cancel_at_period_end.")
  if ((atEnd !== undefined || cancelAt !== undefined) && scheduleOf(world, subscription))
    refuse("The subscription is managed by a subscription schedule, whose cancelation behavior cannot be set directly.")
  const [item, ...others] = formsOf(given, "items")
  if (others.length > 0) refuse("The stand-in has one item a subscription.", { param: "items" })
  if (item) {
    if (textOf(item, "id") !== itemOf(subscription).id)
      refuse("The stand-in has one item a subscription: name its id.", { param: "items[0][id]" })
    if (scheduleOf(world, subscription)) refuse("The subscription is managed by a subscription schedule.")
    const anchor = given.billing_cycle_anchor
    if (typeof anchor === "string") refuse("Invalid object", { param: "billing_cycle_anchor" })
    changePrice(world, subscription, {
      price: priceOf(world, item),
      metadata: metadataOf(given, "metadata", subscription.metadata),
      prorates: textOf(given, "proration_behavior") === "always_invoice",
      restarts: textOf(anchor ?? {}, "type") === "now",
      mustPay: textOf(given, "payment_behavior") === "error_if_incomplete",
    })
    return subscription
  }
  const ends = atEnd === "true" ? itemOf(subscription).current_period_end : null
  const at = cancelAt ? numberOf(given, "cancel_at") : undefined
  const method = textOf(given, "default_payment_method")
  change(world, subscription, {
    metadata: metadataOf(given, "metadata", subscription.metadata),
    ...(atEnd !== undefined && {
      cancel_at_period_end: atEnd === "true",
      cancel_at: ends,
      canceled_at: ends && world.now(),
    }),
    ...(cancelAt !== undefined && {
      cancel_at: at ?? null,
      cancel_at_period_end: false,
      canceled_at: at ? world.now() : null,
    }),
    ...(method && { default_payment_method: world.get("payment_method", method).id }),
  })
  return subscription
}

function phasesOf(world: World, given: readonly Form[]): Phase[] {
  const phases: Phase[] = []
  for (const phase of given) {
    const start = numberOf(phase, "start_date") ?? phases.at(-1)?.end_date
    if (start === undefined) refuse("Missing required param: phases[0][start_date].", { code: "parameter_missing" })
    const [item] = formsOf(phase, "items")
    if (!item) refuse("Missing required param: phases[0][items].", { code: "parameter_missing" })
    const price = priceOf(world, item)
    const duration = formOf(phase, "duration")
    const months =
      duration && (textOf(duration, "interval") === "year" ? 12 : 1) * (numberOf(duration, "interval_count") ?? 1)
    const end = numberOf(phase, "end_date") ?? (months ? addMonths(start, months) : undefined)
    if (end === undefined) refuse("A phase needs an end_date or a duration.")
    phases.push({
      start_date: start,
      end_date: end,
      items: [{ price: price.id, quantity: 1, metadata: {} }],
      metadata: metadataOf(phase),
      proration_behavior: textOf(phase, "proration_behavior") ?? "create_prorations",
    })
  }
  return phases
}

/** Replaces ids by their objects along paths such as `data.payment.payment_intent`. */
export function expand(world: World, value: unknown, paths: readonly string[]): unknown {
  const copy = structuredClone(value)
  for (const path of paths) {
    const steps = path.split(".")
    if (steps.length > 4) refuse("You cannot expand more than 4 levels of a property.", { param: "expand" })
    expandPath(world, copy, steps, path)
  }
  return copy
}

function expandPath(world: World, value: unknown, [step, ...rest]: string[], path: string): void {
  if (step === undefined || value === null || value === undefined) return
  if (Array.isArray(value)) {
    for (const item of value) expandPath(world, item, [step, ...rest], path)
    return
  }
  if (typeof value !== "object" || !Object.hasOwn(value, step))
    refuse(`This property cannot be expanded (${path}).`, { param: "expand" })
  const fields = value as Record<string, unknown>
  const found = fields[step]
  if (typeof found === "string") fields[step] = structuredClone(world.any(found) ?? found)
  expandPath(world, fields[step], rest, path)
}
