import type { Charge, Customer, Dispute, PaymentIntent, PaymentMethod, Refund } from "./objects"
import { ApiError, refuse, type World } from "./world"

// Payment intents, charges, refunds and disputes.

/** The cards and the bank account of the pages, by their last four digits. */
const methods = {
  works: "4242",
  declines: "0341",
  authenticates: "3184",
  bank: "6789",
} as const

export type Method = keyof typeof methods

export function isMethod(text: string): text is Method {
  return Object.hasOwn(methods, text)
}

const declined = {
  type: "card_error",
  code: "card_declined",
  decline_code: "generic_decline",
  message: "Your card was declined.",
} as const

const unauthenticated = {
  type: "card_error",
  code: "authentication_required",
  decline_code: "authentication_required",
  message: "Your card was declined. This transaction requires authentication.",
} as const

export function addCustomer(world: World, given: Partial<Pick<Customer, "email" | "metadata" | "name">>): Customer {
  const customer = world.add({
    id: world.id("customer"),
    object: "customer",
    balance: 0,
    created: world.now(),
    currency: null,
    default_source: null,
    delinquent: false,
    description: null,
    email: null,
    invoice_settings: { custom_fields: null, default_payment_method: null, footer: null, rendering_options: null },
    livemode: false,
    metadata: {},
    name: null,
    shipping: null,
    ...given,
  })
  world.emit("customer.created", customer)
  return customer
}

export function addMethod(world: World, method: Method, customer: string | null): PaymentMethod {
  const card = { brand: "visa", last4: methods[method], exp_month: 12, exp_year: 2040 }
  const added = world.add({
    id: world.id("payment_method"),
    object: "payment_method",
    card: method === "bank" ? null : card,
    created: world.now(),
    customer,
    livemode: false,
    type: method === "bank" ? "sepa_debit" : "card",
  })
  if (customer) world.emit("payment_method.attached", added)
  return added
}

/** The customer's default, or the one that was saved last. */
export function methodOf(world: World, customer: string): PaymentMethod | undefined {
  const chosen = world.find("customer", customer)?.invoice_settings.default_payment_method
  if (chosen) return world.find("payment_method", chosen)
  return world.all("payment_method").find((method) => method.customer === customer)
}

type NewIntent = Pick<PaymentIntent, "amount" | "currency" | "customer" | "description" | "metadata"> &
  Partial<Pick<PaymentIntent, "setup_future_usage" | "managed_payments">>

export function addIntent(world: World, given: NewIntent): PaymentIntent {
  const id = world.id("payment_intent")
  const intent = world.add({
    id,
    object: "payment_intent",
    amount_received: 0,
    canceled_at: null,
    cancellation_reason: null,
    capture_method: "automatic",
    client_secret: `${id}_secret_stand_in`,
    confirmation_method: "automatic",
    created: world.now(),
    last_payment_error: null,
    latest_charge: null,
    livemode: false,
    managed_payments: null,
    next_action: null,
    payment_method: null,
    payment_method_types: ["card"],
    setup_future_usage: null,
    status: "requires_payment_method",
    ...given,
  })
  world.emit("payment_intent.created", intent)
  return intent
}

/** Whether the customer is at the page, and has authenticated there. */
type Presence = "off_session" | "present" | "authenticated"

/** Charges the intent, which then has succeeded, failed, asks for authentication or, from a bank, is processing. */
export function confirm(world: World, intent: PaymentIntent, method: PaymentMethod, presence: Presence): void {
  intent.payment_method = method.id
  intent.next_action = null
  intent.last_payment_error = null
  const asks = method.card?.last4 === methods.authenticates && presence !== "authenticated"
  if (asks && presence === "present") {
    intent.status = "requires_action"
    intent.next_action = { type: "redirect_to_url" }
    world.emit("payment_intent.requires_action", intent)
    return
  }
  const failure = asks ? unauthenticated : method.card?.last4 === methods.declines ? declined : null
  if (failure) fail(world, intent, failure)
  else if (method.type === "card") succeed(world, intent)
  else {
    intent.status = "processing"
    charged(world, intent, "pending")
    world.emit("payment_intent.processing", intent)
  }
}

function succeed(world: World, intent: PaymentIntent): void {
  const pending = intent.latest_charge ? world.get("charge", intent.latest_charge) : undefined
  const charge = pending?.status === "pending" ? pending : charged(world, intent, "succeeded")
  Object.assign(charge, { status: "succeeded", paid: true, captured: true, amount_captured: charge.amount })
  intent.status = "succeeded"
  intent.amount_received = intent.amount
  if (intent.customer && intent.setup_future_usage && intent.payment_method) {
    const method = world.get("payment_method", intent.payment_method)
    method.customer = intent.customer
    world.emit("payment_method.attached", method)
  }
  world.emit("charge.succeeded", charge)
  world.emit("payment_intent.succeeded", intent)
}

function fail(world: World, intent: PaymentIntent, failure: NonNullable<PaymentIntent["last_payment_error"]>): void {
  const pending = intent.latest_charge ? world.get("charge", intent.latest_charge) : undefined
  const charge = pending?.status === "pending" ? pending : charged(world, intent, "failed")
  Object.assign(charge, { status: "failed", failure_code: failure.code, failure_message: failure.message })
  intent.status = "requires_payment_method"
  intent.last_payment_error = failure
  world.emit("charge.failed", charge)
  world.emit("payment_intent.payment_failed", intent)
}

function charged(world: World, intent: PaymentIntent, status: Charge["status"]): Charge {
  const id = world.id("charge")
  intent.latest_charge = id
  return world.add({
    id,
    object: "charge",
    amount: intent.amount,
    amount_captured: 0,
    amount_refunded: 0,
    captured: false,
    created: world.now(),
    currency: intent.currency,
    customer: intent.customer,
    description: intent.description,
    disputed: false,
    failure_code: null,
    failure_message: null,
    livemode: false,
    metadata: { ...intent.metadata },
    paid: false,
    payment_intent: intent.id,
    payment_method: intent.payment_method,
    receipt_url: `${world.origin}/receipts/${id}`,
    refunded: false,
    status,
  })
}

/** A payment from a bank arrives, or does not. */
export function settle(world: World, intent: PaymentIntent, succeeds: boolean): void {
  if (intent.status !== "processing") refuse("This PaymentIntent is not processing.")
  if (succeeds) succeed(world, intent)
  else fail(world, intent, { ...declined, code: "debit_not_authorized", message: "The bank refused the debit." })
}

/** @throws ApiError of status 402 after a decline */
export function throwFailure(intent: PaymentIntent): void {
  if (intent.last_payment_error) throw new ApiError(402, intent.last_payment_error)
}

export function refund(world: World, charge: Charge, amount: number | undefined, given: Partial<Refund> = {}): Refund {
  const left = charge.amount - charge.amount_refunded
  const wanted = amount ?? left
  if (charge.status !== "succeeded") refuse(`Charge ${charge.id} has not succeeded.`)
  if (left === 0) refuse(`Charge ${charge.id} has already been refunded.`, { code: "charge_already_refunded" })
  if (disputesOf(world, charge).some(({ status }) => status !== "won"))
    refuse(`Charge ${charge.id} has been charged back; cannot issue a refund.`, { code: "charge_disputed" })
  if (wanted <= 0) refuse("Invalid positive integer", { param: "amount", code: "parameter_invalid_integer" })
  if (wanted > left)
    refuse(`Refund amount (${wanted}) is greater than unrefunded amount on charge (${left})`, { param: "amount" })
  const made = world.add<Refund>({
    id: world.id("refund"),
    object: "refund",
    amount: wanted,
    charge: charge.id,
    created: world.now(),
    currency: charge.currency,
    metadata: {},
    payment_intent: charge.payment_intent,
    reason: null,
    status: "succeeded",
    ...given,
  })
  countRefunds(charge, wanted)
  world.emit("refund.created", made)
  world.emit("charge.refunded", charge)
  return made
}

/** The money comes back from the customer's bank, as from a closed account. */
export function failRefund(world: World, made: Refund): void {
  if (made.status === "failed") return
  made.status = "failed"
  made.failure_reason = "lost_or_stolen_card"
  countRefunds(world.get("charge", made.charge), -made.amount)
  world.emit("refund.updated", made)
  world.emit("refund.failed", made)
}

function countRefunds(charge: Charge, amount: number): void {
  charge.amount_refunded += amount
  charge.refunded = charge.amount_refunded === charge.amount
}

function disputesOf(world: World, charge: Charge): Dispute[] {
  return world.all("dispute").filter((dispute) => dispute.charge === charge.id)
}

export function dispute(world: World, charge: Charge, amount = charge.amount - charge.amount_refunded): Dispute {
  if (charge.status !== "succeeded") refuse(`Charge ${charge.id} has not succeeded.`)
  charge.disputed = true
  const made = world.add<Dispute>({
    id: world.id("dispute"),
    object: "dispute",
    amount,
    charge: charge.id,
    created: world.now(),
    currency: charge.currency,
    is_charge_refundable: false,
    livemode: false,
    metadata: {},
    payment_intent: charge.payment_intent,
    reason: "fraudulent",
    status: "needs_response",
  })
  world.emit("charge.dispute.created", made)
  world.emit("charge.dispute.funds_withdrawn", made)
  return made
}

export function closeDispute(world: World, made: Dispute, status: "won" | "lost"): void {
  if (made.status !== "needs_response") refuse("This dispute is already closed.")
  made.status = status
  world.emit("charge.dispute.closed", made)
  if (status === "won") world.emit("charge.dispute.funds_reinstated", made)
}
