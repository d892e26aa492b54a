import Stripe from "stripe"
import { InvalidEvent, KeyRefused, PaymentDeclined, ProviderRefused, ProviderUnavailable } from "./errors"
import type { CheckoutOrder, Line, PaymentProvider } from "./provider"
import { concernsOf, idOf, planOf, readFacts } from "./stripe-facts"

/** `slug` begins the ids of products, and `apiUrl` is the stand-in's. The API's version is the one of the package. */
export type StripeSettings = { key: string; webhookSecret: string; apiUrl?: string; isManaged: boolean; slug: string }

const toleranceSeconds = 300
const maxUrl = 4_000

export function stripeProvider({ key, webhookSecret, apiUrl, isManaged, slug }: StripeSettings): PaymentProvider {
  const at = apiUrl && new URL(apiUrl)
  const address = at && ({ host: at.hostname, port: at.port, protocol: "http" } as const)
  const stripe = new Stripe(key, { timeout: 10_000, maxNetworkRetries: 1, telemetry: false, ...address })
  const facts = readFacts(stripe, apiUrl ? `${apiUrl}/dashboard` : "https://dashboard.stripe.com")

  /** Changes of a subscription accept no inline product, so each plan has one, made when it is first needed. */
  async function priceOf({ name, amount, currency, interval = "month" }: Line, plan: string) {
    const product = `${slug}_${plan}`
    await stripe.products.create({ id: product, name }).catch((error) => {
      if (error.code !== "resource_already_exists") throw error
    })
    return { product, currency, unit_amount: amount, tax_behavior: "inclusive", recurring: { interval } }
  }

  async function checkout({ id, account, customer, email, line, plan, returnTo, ...order }: CheckoutOrder) {
    const metadata = { account, order: id, credits: String(order.credits) }
    const { name, amount: unit_amount, currency } = line
    const inline = { product_data: { name }, currency, unit_amount, tax_behavior: "inclusive" }
    const subscription = { mode: "subscription", subscription_data: { metadata: { account, plan } } } as const
    const future = order.saveCard ? ({ setup_future_usage: "off_session" } as const) : {}
    const payment = { mode: "payment", payment_intent_data: { metadata, description: name, ...future } } as const
    const payer = customer && (await payerOf(customer))?.id
    const session = await stripe.checkout.sessions.create(
      {
        ...(plan ? subscription : payment),
        line_items: [{ quantity: 1, price_data: plan ? await priceOf(line, plan) : inline }],
        client_reference_id: id,
        ...(payer ? { customer: payer } : { customer_email: email }),
        ...(!payer && !plan && { customer_creation: "always" }),
        ...(isManaged && { managed_payments: { enabled: true } }),
        success_url: `${returnTo}${returnTo.includes("?") ? "&" : "?"}checkout={CHECKOUT_SESSION_ID}`,
        cancel_url: returnTo,
      },
      { idempotencyKey: id },
    )
    return { url: pageOf(session.url) }
  }

  /** Null if someone deleted the customer in the dashboard, or the key is of another mode or account of Stripe. */
  async function payerOf(customer: string): Promise<Stripe.Customer | null> {
    const found = await stripe.customers.retrieve(customer).catch((error) => {
      if (error.code !== "resource_missing") throw error
      return null
    })
    return found && !found.deleted ? found : null
  }

  /** Browsers are sent there. Only the stand-in has no TLS. */
  function pageOf(url: string | null): string {
    const page = URL.parse(String(url))
    const isSafe = page?.protocol === "https:" || (at && page?.origin === at.origin)
    if (!page || !isSafe || page.username || page.href.length > maxUrl)
      throw new ProviderRefused("It sends to no page.")
    return page.href
  }

  async function refund(payment: string, amount: number, idempotencyKey: string): Promise<void> {
    const paid = { invoice: payment, status: "paid" }
    const made = payment.startsWith("in_") ? (await stripe.invoicePayments.list(paid)).data[0]?.payment : undefined
    const payment_intent = idOf(made?.payment_intent) ?? payment
    // Stripe forgets an idempotency key after a day, and a refund is repeated for longer.
    const earlier = await stripe.refunds.list({ payment_intent, limit: 100 })
    if (earlier.data.some(({ metadata }) => metadata?.request === idempotencyKey)) return
    await stripe.refunds.create({ payment_intent, amount, metadata: { request: idempotencyKey } }, { idempotencyKey })
  }

  async function cancel(id: string, at: "now" | "period_end" | "never"): Promise<void> {
    const { status, cancel_at, cancel_at_period_end } = await released(id)
    if (status === "canceled") return
    if (at === "now") await stripe.subscriptions.cancel(id)
    if (at === "period_end") await stripe.subscriptions.update(id, { cancel_at_period_end: true })
    if (at === "never" && cancel_at_period_end) await stripe.subscriptions.update(id, { cancel_at_period_end: false })
    if (at === "never" && cancel_at && !cancel_at_period_end) await stripe.subscriptions.update(id, { cancel_at: "" })
  }

  /** Without its schedule, which would forbid other changes. */
  async function released(id: string): Promise<Stripe.Subscription> {
    const found = await stripe.subscriptions.retrieve(id)
    const schedule = idOf(found.schedule)
    if (schedule && found.status !== "canceled") await stripe.subscriptionSchedules.release(schedule)
    return found
  }

  async function change(id: string, to: Line & { plan: string }, at: "now" | "period_end"): Promise<string | null> {
    const found = await released(id)
    const [item] = found.items.data
    if (!item || planOf(item.price.product) === to.plan) return null
    const price_data = await priceOf(to, to.plan)
    const metadata = { ...found.metadata, plan: to.plan, from: planOf(item.price.product) }
    if (at === "now") {
      const { latest_invoice } = await stripe.subscriptions.update(id, {
        items: [{ id: item.id, price_data }],
        metadata,
        proration_behavior: "always_invoice",
        billing_cycle_anchor: { type: "now" },
        payment_behavior: "error_if_incomplete",
      })
      return idOf(latest_invoice)
    }
    const { id: schedule, phases } = await stripe.subscriptionSchedules.create({ from_subscription: id })
    const now = { ...phases[0], start_date: phases[0]?.start_date ?? item.current_period_start }
    await stripe.subscriptionSchedules.update(schedule, {
      end_behavior: "release",
      phases: [
        {
          start_date: now.start_date,
          end_date: now.end_date ?? item.current_period_end,
          items: [{ price: item.price.id }],
        },
        { items: [{ price_data }], metadata, proration_behavior: "none", duration: price_data.recurring },
      ],
    })
    return null
  }

  async function charge(
    { customer, line, account, id, credits }: CheckoutOrder,
    idempotencyKey: string,
  ): Promise<string> {
    const method = customer && (await savedMethod(customer))
    if (!method) throw new PaymentDeclined("No card is saved.", true)
    const metadata = { account, order: id, credits: String(credits) }
    const { amount, currency, name: description } = line
    const how = { payment_method: method.id, payment_method_types: [method.type], off_session: true, confirm: true }
    const given = { amount, currency, description, customer, metadata, ...how }
    return (await stripe.paymentIntents.create(given, { idempotencyKey })).id
  }

  async function savedMethod(customer: string): Promise<Stripe.PaymentMethod | undefined> {
    const payer = await payerOf(customer)
    if (!payer) return undefined
    const chosen = idOf(payer.invoice_settings.default_payment_method)
    const { data } = await stripe.customers.listPaymentMethods(payer.id, { limit: 100 })
    return data.find(({ id }) => id === chosen) ?? data[0]
  }

  async function leave(url: string): Promise<void> {
    const [id] = /cs_\w+/.exec(url) ?? []
    if (!id) return
    await stripe.checkout.sessions.expire(id).catch((error) => {
      // It is paid, or has expired.
      if (!(error instanceof StripeInvalidRequestError)) throw error
    })
  }

  async function forget(customer: string): Promise<void> {
    await stripe.customers.del(customer).catch((error) => {
      if (error.code !== "resource_missing") throw error
    })
  }

  function verify(raw: Uint8Array, headers: Headers): ReturnType<PaymentProvider["verify"]> {
    const signature = headers.get("stripe-signature") ?? ""
    try {
      const event = stripe.webhooks.constructEvent(raw, signature, webhookSecret, toleranceSeconds)
      // The package, which reads the last `t` like this, accepts times in the future.
      const time = signature.split(",").findLast((part) => part.startsWith("t="))
      if (!(Number.parseInt(time?.slice(2) ?? "", 10) <= Date.now() / 1000 + toleranceSeconds))
        throw new Error("The time is in the future.")
      if (typeof event.id !== "string") throw new Error("An event has an id.")
      return { eventId: event.id, concerns: concernsOf(event.data.object) }
    } catch {
      // Without the cause, which holds the body.
      throw new InvalidEvent("The event is not signed by the provider, or is none.")
    }
  }

  return {
    name: "stripe",
    verify,
    checkout: (order) => checkout(order).catch(translate),
    portal: (customer, return_url) =>
      stripe.billingPortal.sessions.create({ customer, return_url }).then(
        ({ url }) => ({ url: pageOf(url) }),
        (error) => (error.code === "resource_missing" ? null : translate(error)),
      ),
    fetch: ((kind, id) =>
      (kind === "payment" ? facts.payment(id) : facts.subscription(id)).catch((error) =>
        error.code === "resource_missing" ? null : translate(error),
      )) as PaymentProvider["fetch"],
    refund: (...given) => refund(...given).catch(translate),
    cancel: (...given) => cancel(...given).catch(translate),
    change: (...given) => change(...given).catch(translate),
    leave: (url) => leave(url).catch(translate),
    charge: (...given) => charge(...given).catch(translate),
    card: (customer) => savedMethod(customer).then((method) => method?.id ?? null, translate),
    forget: (customer) => forget(customer).catch(translate),
    async *changed(since) {
      try {
        yield* facts.changed(since)
      } catch (error) {
        translate(error)
      }
    },
  }
}

const { StripeAPIError, StripeCardError, StripeConnectionError, StripeInvalidRequestError, StripeRateLimitError } =
  Stripe.errors
const { StripeAuthenticationError, StripePermissionError } = Stripe.errors

/** A conflict, as with another request under the same key, is a StripeAPIError. */
function translate(cause: unknown): never {
  if (cause instanceof StripeCardError) throw new PaymentDeclined(cause.message, true)
  if (cause instanceof StripeAuthenticationError)
    throw new KeyRefused("Stripe does not accept the key in STRIPE_SECRET_KEY. Was it revoked?")
  // The message names the permission, and the key.
  const lacking = cause instanceof StripePermissionError && cause.message.replaceAll(/[rs]k_\S+/g, "…")
  if (lacking) throw new KeyRefused(`The key in STRIPE_SECRET_KEY lacks a permission at Stripe: ${lacking}`)
  for (const kind of [StripeAPIError, StripeConnectionError, StripeRateLimitError])
    if (cause instanceof kind) throw new ProviderUnavailable(cause.message, { cause })
  if (cause instanceof StripeInvalidRequestError) throw new ProviderRefused(cause.message, { cause })
  throw cause
}
