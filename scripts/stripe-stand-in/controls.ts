import type { Context } from "./api"
import { pay, settleSession } from "./checkout"
import type { Invoice } from "./objects"
import {
  addCustomer,
  addIntent,
  addMethod,
  closeDispute,
  confirm,
  dispute,
  failRefund,
  isMethod,
  methodOf,
  refund,
  settle,
} from "./payments"
import {
  actDue,
  addMonths,
  addPrice,
  addProduct,
  addSubscription,
  change,
  end,
  itemOf,
  nextDue,
  payInvoice,
  release,
  scheduleOf,
  settleInvoice,
} from "./subscriptions"
import { type Mode, modes, type Webhooks } from "./webhooks"
import { refuse } from "./world"

/** A fault of the API: `400`, `403`, `429`, `500`, `timeout` (no response) or `reset` (the connection closes). */
export type Fault = { kind: string; times: number; path: string; method: string; after: boolean }

export type Controlled = Context & { webhooks: Webhooks; faults: Fault[]; requests: { method: string; path: string }[] }

type Given = Readonly<Record<string, string>>

/** Acts of customers, banks, the dashboard and the network: over HTTP as `POST /_control/NAME`, and on the pages. */
export const controls: Record<string, (on: Controlled, given: Given) => unknown> = {
  /** Moves the clock by months, days or seconds, and does all that is due until then. */
  advance({ world }, { months = "0", days = "0", seconds = "0" }) {
    const target = addMonths(world.now(), whole(months)) + whole(days) * 86_400 + whole(seconds)
    world.advance(
      target - world.now(),
      (until) => nextDue(world, until),
      (at) => actDue(world, at),
    )
    return { now: world.now() }
  },

  /** Sets the address, the mode and the number of copies of events. */
  webhooks({ webhooks }, { url, mode, copies }) {
    if (url !== undefined) webhooks.url = url || undefined
    if (mode !== undefined) webhooks.mode = isMode(mode) ? mode : refuse(`The modes are ${modes.join(", ")}.`)
    if (copies !== undefined) webhooks.copies = whole(copies)
    return { url: webhooks.url ?? null, mode: webhooks.mode, copies: webhooks.copies }
  },

  /** Sends the held events: in the order in which they happened, `reverse`, or `random` by a seed. */
  async release({ webhooks }, { order = "", seed = "1" }) {
    webhooks.release((count) => {
      const indexes = [...Array(count).keys()]
      if (order === "reverse") return indexes.reverse()
      return order === "random" ? shuffled(indexes, whole(seed)) : indexes
    })
    await webhooks.settled()
    return {}
  },

  /** Sends every event that was not accepted, as Stripe does within three days. */
  async redeliver({ world, webhooks }) {
    const missed = world.all("event").filter(({ pending_webhooks: pending }) => pending > 0)
    webhooks.send(missed.reverse())
    await webhooks.settled()
    return { sent: missed.length }
  },

  /** Responds when the events so far were tried once. */
  async settled({ webhooks }) {
    await webhooks.settled()
    return {}
  },

  attempts: ({ webhooks }) => webhooks.attempts,

  /** The API requests since the last call. */
  requests: ({ requests }) => requests.splice(0),

  /** Adds a fault for the next requests whose method and path contain the given text; `times` 0 removes all. */
  faults({ faults }, { kind = "500", times = "1", path = "", method = "", after = "false" }) {
    if (whole(times) === 0) faults.length = 0
    else faults.push({ kind, times: whole(times), path, method, after: after === "true" })
    return faults
  },

  /** A customer at the checkout page. */
  pay({ world, baskets }, { session = "", method = "works", authenticated = "false" }) {
    const basket = baskets.get(session) ?? refuse("No such session.")
    if (!isMethod(method)) refuse(`No such method: ${method}`)
    return pay(world, world.get("checkout.session", session), basket, method, authenticated === "true")
  },

  /** A payment from a bank, which was processing, arrives or does not. */
  settle({ world }, { payment = "", succeeds = "true" }) {
    const intent = world.get("payment_intent", payment)
    settle(world, intent, succeeds === "true")
    settleInvoice(world, intent.id)
    settleSession(world, intent.id, succeeds === "true")
    return intent
  },

  refund({ world }, { payment = "", amount }) {
    const charge = world.get("charge", world.get("payment_intent", payment).latest_charge ?? "")
    return refund(world, charge, amount ? whole(amount) : undefined)
  },

  fail_refund({ world }, { refund: id = "" }) {
    const refund = world.get("refund", id)
    failRefund(world, refund)
    return refund
  },

  dispute({ world }, { payment = "", amount }) {
    const charge = world.get("charge", world.get("payment_intent", payment).latest_charge ?? "")
    return dispute(world, charge, amount ? whole(amount) : undefined)
  },

  close_dispute({ world }, { dispute: id = "", status = "lost" }) {
    const dispute = world.get("dispute", id)
    closeDispute(world, dispute, status === "won" ? "won" : "lost")
    return dispute
  },

  /** A new card of a customer, which also pays the subscriptions from now on. */
  card({ world }, { customer: id = "", method = "works" }) {
    if (!isMethod(method)) refuse(`No such method: ${method}`)
    const customer = world.get("customer", id)
    const added = addMethod(world, method, id)
    customer.invoice_settings.default_payment_method = added.id
    world.emit("customer.updated", customer)
    for (const subscription of world.all("subscription"))
      if (subscription.customer === id && subscription.status !== "canceled")
        change(world, subscription, { default_payment_method: added.id })
    return added
  },

  pay_invoice({ world }, { invoice: id = "" }) {
    const invoice: Invoice = world.get("invoice", id)
    if (invoice.status !== "open") refuse("This invoice is not open.")
    payInvoice(world, invoice, methodOf(world, invoice.customer))
    return invoice
  },

  /** The payment intent of an invoice, for tests. */
  payment_of({ world }, { invoice = "" }) {
    return world.all("invoice_payment").find((one) => one.invoice === invoice)?.payment ?? refuse("It has none.")
  },

  cancel({ world }, { subscription: id = "", at = "period_end" }) {
    const subscription = world.get("subscription", id)
    const schedule = scheduleOf(world, subscription)
    if (at === "now") end(world, subscription, "cancellation_requested")
    else {
      if (schedule) release(world, schedule)
      const ends = { cancel_at: itemOf(subscription).current_period_end, canceled_at: world.now() }
      change(world, subscription, { cancel_at_period_end: true, ...ends })
    }
    return subscription
  },

  resume({ world }, { subscription: id = "" }) {
    const subscription = world.get("subscription", id)
    if (subscription.status === "canceled") refuse("A canceled subscription cannot be resumed.")
    change(world, subscription, { cancel_at_period_end: false, cancel_at: null, canceled_at: null })
    return subscription
  },

  /** A subscription that somebody makes in the dashboard, with a product of theirs or of the application. */
  subscribe(
    { world },
    { customer, email = "", product = "", name = "Made in the dashboard", card = "works", ...terms },
  ) {
    const payer = customer || addCustomer(world, { email }).id
    const method = methodOf(world, payer) ?? addMethod(world, isMethod(card) ? card : "works", payer)
    const price = addPrice(world, {
      product: world.find("product", product)?.id ?? addProduct(world, { name, ...(product && { id: product }) }).id,
      currency: terms.currency ?? "usd",
      unit_amount: whole(terms.amount ?? "2900"),
      tax_behavior: "unspecified",
      interval: terms.interval === "year" ? "year" : "month",
    })
    const metadata = Object.fromEntries(["account", "plan"].flatMap((key) => (terms[key] ? [[key, terms[key]]] : [])))
    const { subscription, invoice } = addSubscription(world, {
      ...{ customer: payer, price, metadata, method, managed: false },
    })
    payInvoice(world, invoice, method)
    return subscription
  },

  /** A single payment that somebody takes in the dashboard. */
  purchase(
    { world },
    { customer, email = "", amount = "1500", currency = "usd", description = "By telephone", order },
  ) {
    const payer = customer || addCustomer(world, { email }).id
    const intent = addIntent(world, {
      ...{ amount: whole(amount), currency, customer: payer, description, metadata: order ? { order } : {} },
    })
    confirm(world, intent, methodOf(world, payer) ?? addMethod(world, "works", payer), "off_session")
    return intent
  },
}

function whole(text: string): number {
  return /^-?\d+$/.test(text) ? Number(text) : refuse(`Invalid integer: ${text}`)
}

function isMode(text: string): text is Mode {
  return (modes as readonly string[]).includes(text)
}

/** The same order for the same seed: mulberry32. */
function shuffled(items: number[], seed: number): number[] {
  let state = seed
  const random = () => {
    state = (state + 0x6d2b79f5) | 0
    let value = Math.imul(state ^ (state >>> 15), 1 | state)
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32
  }
  const keys = items.map(random)
  return items.sort((one, other) => (keys[one] ?? 0) - (keys[other] ?? 0))
}
