import type { CheckoutSession, Price } from "./objects"
import { addCustomer, addIntent, addMethod, confirm, type Method } from "./payments"
import { addSubscription, payInvoice } from "./subscriptions"
import { refuse, type World } from "./world"

/** A session, with the parts of its parameters that Stripe does not show again. */
export type Basket = {
  price: Price
  description: string
  intentMetadata: Record<string, string>
  subscriptionMetadata: Record<string, string>
  savesCard: boolean
}

/** Pays at the checkout page. Returns the address to go to, or a message for the page. */
export function pay(
  world: World,
  session: CheckoutSession,
  basket: Basket,
  method: Method,
  hasAuthenticated = false,
): { to: string } | { message: string; asks?: boolean } {
  if (session.status !== "open") refuse(`This Checkout Session is ${session.status}.`)
  if (method === "authenticates" && !hasAuthenticated) return { message: "Your bank asks who you are.", asks: true }
  // A subscription is made once its first payment has a chance; nothing of a declined one is left but the payment.
  const isDeclined = method === "declines"
  const customer =
    session.customer ??
    (isDeclined || (session.mode === "payment" && session.customer_creation !== "always")
      ? null
      : addCustomer(world, { email: session.customer_email }).id)
  session.customer = customer
  if (session.mode === "subscription" && customer && !isDeclined) {
    const card = addMethod(world, method, customer)
    const { price, subscriptionMetadata: metadata } = basket
    const managed = session.managed_payments?.enabled ?? false
    const { subscription, invoice } = addSubscription(world, { customer, price, metadata, method: card, managed })
    payInvoice(world, invoice, card, "authenticated")
    Object.assign(session, { subscription: subscription.id, invoice: invoice.id })
    return complete(world, session, invoice.status === "paid")
  }
  const amount = session.amount_total ?? 0
  const currency = session.currency ?? "usd"
  const known = session.payment_intent ? world.get("payment_intent", session.payment_intent) : undefined
  const intent =
    known ??
    addIntent(world, {
      ...{ amount, currency, customer, description: basket.description, metadata: basket.intentMetadata },
      managed_payments: session.managed_payments,
      setup_future_usage: basket.savesCard ? "off_session" : null,
    })
  intent.customer = customer
  if (session.mode === "payment") session.payment_intent = intent.id
  confirm(world, intent, addMethod(world, method, null), "authenticated")
  if (intent.last_payment_error) return { message: intent.last_payment_error.message }
  return complete(world, session, intent.status === "succeeded")
}

function complete(world: World, session: CheckoutSession, isPaid: boolean): { to: string } {
  const details = { email: session.customer_email, name: null, phone: null, tax_exempt: "none", tax_ids: [] } as const
  Object.assign(session, { status: "complete", payment_status: isPaid ? "paid" : "unpaid", url: null })
  session.customer_details = { address: null, business_name: null, individual_name: null, ...details, tax_ids: [] }
  world.emit("checkout.session.completed", session)
  return { to: (session.success_url ?? "").replaceAll("{CHECKOUT_SESSION_ID}", session.id) }
}

/** A payment that was processing has ended. */
export function settleSession(world: World, intent: string, succeeds: boolean): void {
  const invoice = world.all("invoice_payment").find(({ payment }) => payment.payment_intent === intent)?.invoice
  const session = world
    .all("checkout.session")
    .find((one) => one.payment_intent === intent || (invoice && one.invoice === invoice))
  if (!session) return
  if (succeeds) session.payment_status = "paid"
  world.emit(`checkout.session.async_payment_${succeeds ? "succeeded" : "failed"}`, session)
}
