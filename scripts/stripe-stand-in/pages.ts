import type { ServerResponse } from "node:http"
import type { Controlled } from "./controls"
import type { Charge, CheckoutSession, Customer, Invoice, PaymentIntent, PortalSession, Subscription } from "./objects"
import { methodOf } from "./payments"
import { itemOf } from "./subscriptions"
import { ApiError, refuse } from "./world"

// Pages without JavaScript, for the people of the demo.

type Control = (name: string, given: Record<string, string>) => Promise<unknown>
type Requested = { method: string; pathname: string; body: string }

/** HTML that is safe to send. */
class Html {
  constructor(readonly text: string) {}
}

type Part = Html | string | number | null | false | undefined | readonly Part[]

function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(strings.reduce((text, string, index) => text + textOf(parts[index - 1]) + string))
}

function textOf(part: Part): string {
  if (part instanceof Html) return part.text
  if (part === null || part === undefined || part === false) return ""
  if (typeof part !== "string" && typeof part !== "number") return part.map(textOf).join("")
  return String(part).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

type Page = { title: string; body: Html; status?: number }
type Result = Page | { to: string }

export async function respondWithPage(
  on: Controlled,
  control: Control,
  requested: Requested,
  response: ServerResponse,
): Promise<void> {
  const result = await pageOf(on, control, requested).catch((error: unknown): Page => {
    if (!(error instanceof ApiError)) throw error
    return { title: "This does not work", status: error.status, body: html`<p role="alert">${error.message}</p>` }
  })
  if ("to" in result) {
    response.writeHead(303, { location: result.to }).end()
    return
  }
  response.writeHead(result.status ?? 200, {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  })
  response.end(layout(result).text)
}

async function pageOf(on: Controlled, control: Control, { method, pathname, body }: Requested): Promise<Result> {
  const [, folder = "", id = ""] = pathname.split("/")
  const given = Object.fromEntries(new URLSearchParams(body))
  if (folder === "checkout") return checkout(on, control, on.world.get("checkout.session", id), method, given)
  if (folder === "portal") return portal(on, control, on.world.get("billing_portal.session", id), method, given)
  if (folder === "invoices") return invoicePage(on, on.world.get("invoice", id))
  if (folder === "receipts") return receipt(on.world.get("charge", id))
  if (folder === "" && method === "POST") {
    const { control: name = "", ...rest } = given
    await control(name, rest)
    return { to: "/" }
  }
  if (folder === "") return dashboard(on)
  if (folder === "dashboard") return { to: `/#${pathname.split("/").at(-1) ?? ""}` }
  return { title: "Not found", status: 404, body: html`<p>There is no such page.</p>` }
}

async function checkout(
  on: Controlled,
  control: Control,
  session: CheckoutSession,
  method: string,
  given: Record<string, string>,
): Promise<Result> {
  const how = given.method ?? ""
  const result =
    method === "POST"
      ? await control("pay", { session: session.id, method: how, authenticated: given.authenticated ?? "" })
      : {}
  if (typeof result === "object" && result && "to" in result) return { to: String(result.to) }
  const { message = "", asks = false } = result as { message?: string; asks?: boolean }
  const basket = on.baskets.get(session.id)
  const interval = basket?.price.recurring?.interval
  const name = basket ? on.world.get("product", basket.price.product).name : ""
  const title = asks ? "Authenticate" : "Pay"
  if (session.status !== "open")
    return { title: "This checkout has ended", body: html`<p>It is ${session.status}.</p>` }
  const leave = session.cancel_url && html`<p><a href="${session.cancel_url}">Leave without paying</a></p>`
  const line = html`<p class="amount">${name}: <strong>${money(session.amount_total, session.currency)}</strong>${interval && ` a ${interval}`}</p>`
  if (asks)
    return {
      title,
      body: html`${line}<p role="status">${message}</p>
        <form method="post"><input type="hidden" name="method" value="authenticates">
          <button name="authenticated" value="true">It is me</button></form>
        <form method="post"><button name="method" value="declines">It is not me</button></form>${leave}`,
    }
  return {
    title,
    body: html`${line}${message && html`<p role="alert">${message} Choose another way to pay.</p>`}
      <form method="post" class="choices">
        <button name="method" value="works">Pay</button>
        <button name="method" value="authenticates" class="quiet">Pay with a card that asks for authentication</button>
        <button name="method" value="bank" class="quiet">Pay from a bank account, which takes days</button>
        <button name="method" value="declines" class="quiet">Pay with a card that is declined</button>
      </form>${leave}`,
  }
}

async function portal(
  on: Controlled,
  control: Control,
  session: PortalSession,
  method: string,
  given: Record<string, string>,
): Promise<Result> {
  const { world } = on
  const customer = world.get("customer", session.customer)
  if (method === "POST") {
    // Only the customer's own objects.
    const { control: name = "", ...rest } = given
    const isOwn =
      (name === "card" && rest.customer === customer.id) ||
      (["cancel", "resume"].includes(name) &&
        world.get("subscription", rest.subscription ?? "").customer === customer.id) ||
      (name === "pay_invoice" && world.get("invoice", rest.invoice ?? "").customer === customer.id)
    if (!isOwn) refuse("This is not yours to change.")
    await control(name, name === "cancel" ? { ...rest, at: "period_end" } : rest)
    return { to: `/portal/${session.id}` }
  }
  const own = <T extends { customer: string | null }>(all: T[]) => all.filter((one) => one.customer === customer.id)
  const card = methodOf(world, customer.id)
  return {
    title: "Your invoices and cards",
    body: html`
      <h2>Subscription</h2>
      ${none(
        own(world.all("subscription")).map((subscription) => ownSubscription(on, subscription)),
        "You have no subscription.",
      )}
      <h2>Card</h2>
      <p>${card ? `Card or account ending in ${card.card?.last4 ?? "6789"}` : "No card is saved."}</p>
      <form method="post" class="row"><input type="hidden" name="customer" value="${customer.id}">
        <label for="card">New card</label>
        <select id="card" name="method"><option value="works">4242: works</option><option value="declines">0341: is declined</option><option value="authenticates">3184: asks for authentication</option></select>
        <button name="control" value="card">Save</button></form>
      <h2>Invoices and receipts</h2>
      ${none(
        [
          ...own(world.all("invoice")).map(ownInvoice),
          ...own(world.all("charge"))
            .filter(({ paid }) => paid)
            .map(ownCharge),
        ],
        "You have no invoices.",
      )}
      ${session.return_url && html`<p><a href="${session.return_url}">Return</a></p>`}`,
  }
}

function ownSubscription({ world }: Controlled, subscription: Subscription): Html {
  const item = itemOf(subscription)
  const { name } = world.get("product", item.price.product)
  const ends = subscription.cancel_at !== null
  const period =
    subscription.status === "canceled" ? "" : `, ${ends ? "ends" : "renews"} on ${day(item.current_period_end)}`
  return html`<p>${name}, ${money(item.price.unit_amount, item.price.currency)} a ${item.price.recurring?.interval},
      ${subscription.status.replace("_", " ")}${period}</p>
    ${
      subscription.status !== "canceled" &&
      html`<form method="post"><input type="hidden" name="subscription" value="${subscription.id}">
        <button name="control" value="${ends ? "resume" : "cancel"}">${ends ? "Resume" : "Cancel at the end of the period"}</button></form>`
    }`
}

function ownInvoice(invoice: Invoice): Html {
  return html`<p><a href="/invoices/${invoice.id}">Invoice ${invoice.number}</a>, ${day(invoice.created)},
      ${money(invoice.total, invoice.currency)}, ${invoice.status}</p>
    ${
      invoice.status === "open" &&
      html`<form method="post"><input type="hidden" name="invoice" value="${invoice.id}">
        <button name="control" value="pay_invoice">Pay ${money(invoice.amount_due, invoice.currency)}</button></form>`
    }`
}

function ownCharge(charge: Charge): Html {
  return html`<p><a href="/receipts/${charge.id}">Receipt</a>, ${day(charge.created)}, ${money(charge.amount, charge.currency)}</p>`
}

function invoicePage({ world }: Controlled, invoice: Invoice): Page {
  return {
    title: `Invoice ${invoice.number}`,
    body: html`<p>${invoice.customer_email}, ${day(invoice.created)}, ${invoice.status}</p>
      ${table(
        ["Line", "Amount"],
        [
          ...invoice.lines.data.map((line) => [line.description, money(line.amount, line.currency)]),
          ["Total", money(invoice.total, invoice.currency)],
          ["Due after credit", money(invoice.amount_due, invoice.currency)],
          ["Paid", money(invoice.amount_paid, invoice.currency)],
        ],
      )}
      <p>Customer: ${world.get("customer", invoice.customer).id}</p>`,
  }
}

function receipt(charge: Charge): Page {
  return {
    title: "Receipt",
    body: table(
      ["Of", "Amount"],
      [
        [charge.description ?? "Payment", money(charge.amount, charge.currency)],
        ["Refunded", money(charge.amount_refunded, charge.currency)],
      ],
    ),
  }
}

/** For the person who runs the demo: time, and actions that in production happen at Stripe or at banks. */
function dashboard(on: Controlled): Page {
  const { world, webhooks } = on
  return {
    title: "Stand-in of Stripe",
    body: html`
      <p>The clock says <strong>${day(world.now())}</strong>. Events go to ${webhooks.url ?? "nobody"}, mode ${webhooks.mode}.</p>
      <form method="post" class="row"><input type="hidden" name="control" value="advance">
        <button name="months" value="1">A month later</button><button name="days" value="1" class="quiet">A day later</button></form>
      <form method="post" class="row"><input type="hidden" name="control" value="webhooks">
        <button name="mode" value="silent" class="quiet">Send no events</button><button name="mode" value="deliver" class="quiet">Send events</button></form>
      <form method="post" class="row"><button name="control" value="redeliver" class="quiet">Send missed events again</button></form>
      <h2>Payments</h2>
      ${none(
        world
          .all("payment_intent")
          .slice(0, 50)
          .map((intent) => payment(on, intent)),
        "There are no payments yet.",
      )}
      <h2>Subscriptions</h2>
      ${none(
        world
          .all("subscription")
          .slice(0, 50)
          .map((one) => subscription(on, one)),
        "There are no subscriptions yet.",
      )}
      <h2>Customers</h2>
      ${none(world.all("customer").slice(0, 50).map(customerRow), "There are no customers yet.")}
      <h2>Events</h2>
      ${table(
        ["Time", "Event", "Response"],
        webhooks.attempts
          .slice(-20)
          .reverse()
          .map(({ at, type, status }) => [new Date(at).toISOString().slice(11, 19), type, String(status ?? "none")]),
      )}`,
  }
}

function payment({ world }: Controlled, intent: PaymentIntent): Html {
  const charge = intent.latest_charge ? world.get("charge", intent.latest_charge) : undefined
  const dispute = world
    .all("dispute")
    .find((one) => one.payment_intent === intent.id && one.status === "needs_response")
  const refunded = charge?.amount_refunded ? `, refunded ${money(charge.amount_refunded, charge.currency)}` : ""
  const hasMoney = charge?.status === "succeeded" && !charge.refunded
  const invoice = world.all("invoice_payment").find((one) => one.payment.payment_intent === intent.id)?.invoice
  return html`<section id="${intent.id}"><h3 ${invoice ? html`id="${invoice}"` : ""}>${intent.description ?? "Payment"}, ${money(intent.amount, intent.currency)}</h3>
    <p>${intent.status.replaceAll("_", " ")}${refunded}${dispute && ", disputed"} <code>${intent.id}</code></p>
    ${
      hasMoney &&
      !dispute &&
      html`<form method="post" class="row"><input type="hidden" name="payment" value="${intent.id}">
        <label for="amount-${intent.id}">Amount in minor units</label>
        <input id="amount-${intent.id}" name="amount" inputmode="numeric" size="8" value="${charge.amount - charge.amount_refunded}">
        <button name="control" value="refund">Refund in the dashboard</button>
        <button name="control" value="dispute" class="quiet">Open a dispute</button></form>`
    }
    ${
      dispute &&
      html`<form method="post" class="row"><input type="hidden" name="control" value="close_dispute"><input type="hidden" name="dispute" value="${dispute.id}">
        <button name="status" value="lost">Lose it</button><button name="status" value="won" class="quiet">Win it</button></form>`
    }
    ${
      intent.status === "processing" &&
      html`<form method="post" class="row"><input type="hidden" name="control" value="settle"><input type="hidden" name="payment" value="${intent.id}">
        <button name="succeeds" value="true">The money arrives</button><button name="succeeds" value="false" class="quiet">The bank refuses</button></form>`
    }</section>`
}

function subscription({ world }: Controlled, one: Subscription): Html {
  const item = itemOf(one)
  const { name } = world.get("product", item.price.product)
  return html`<section id="${one.id}"><h3>${name}, ${one.status.replace("_", " ")}</h3>
    <p>${money(item.price.unit_amount, item.price.currency)} a ${item.price.recurring?.interval}, period ends on ${day(item.current_period_end)} <code>${one.id}</code></p>
    ${
      one.status !== "canceled" &&
      html`<form method="post" class="row"><input type="hidden" name="control" value="cancel"><input type="hidden" name="subscription" value="${one.id}">
        <button name="at" value="now" class="quiet">Cancel now in the dashboard</button></form>`
    }</section>`
}

function customerRow(customer: Customer): Html {
  return html`<section id="${customer.id}"><h3>${customer.email ?? (customer.deleted ? "Deleted" : "No address")}</h3><p><code>${customer.id}</code></p>
    ${
      !customer.deleted &&
      html`<form method="post" class="row"><input type="hidden" name="customer" value="${customer.id}">
        <button name="control" value="subscribe" class="quiet">Make a subscription in the dashboard</button>
        <button name="control" value="purchase" class="quiet">Take a payment by telephone</button></form>`
    }</section>`
}

function none(parts: readonly Html[], otherwise: string): Part {
  return parts.length > 0 ? parts : html`<p>${otherwise}</p>`
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): Html {
  return html`<table><thead><tr>${head.map((cell) => html`<th scope="col">${cell}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody></table>`
}

function money(amount: number | null, currency: string | null): string {
  const format = new Intl.NumberFormat("en", { style: "currency", currency: currency ?? "usd" })
  return format.format((amount ?? 0) / 10 ** (format.resolvedOptions().maximumFractionDigits ?? 2))
}

function day(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 10)
}

function layout({ title, body }: Page): Html {
  return html`<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>${new Html(style)}</style></head>
<body><header class="notice">No money moves here: this is a stand-in of Stripe.</header><main><h1>${title}</h1>${body}</main></body></html>`
}

const style = `
:root { color-scheme: light dark; --line: light-dark(#c9ccd3, #454b57); --accent: light-dark(#3b4cc0, #a9b4ff); --on: light-dark(#fff, #14161c) }
* { box-sizing: border-box }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; background: light-dark(#fff, #14161c); color: light-dark(#1b1e26, #e8eaf0) }
main { max-width: 44rem; margin: 0 auto; padding: 1rem }
.notice { margin: 0; padding: .5rem 1rem; background: light-dark(#fff2c2, #4a3c00); color: light-dark(#3d3100, #ffeeb0); text-align: center; font-weight: 600 }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem } h3 { font-size: 1rem; margin: 1rem 0 0 }
p { margin: .35rem 0 } .amount { font-size: 1.15rem }
[role=alert] { color: light-dark(#a3161b, #ff9b9b); font-weight: 600 }
a { color: var(--accent) }
button, select, input { font: inherit; min-height: 2.5rem; padding: .35rem .9rem; border: 1px solid var(--line); border-radius: .4rem; color: inherit; background: transparent }
button { background: var(--accent); color: var(--on); border-color: var(--accent); cursor: pointer }
button.quiet { background: transparent; color: inherit; border-color: var(--line) }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
.choices { display: grid; gap: .6rem; margin: 1rem 0; max-width: 26rem }
.row { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin: .5rem 0 }
table { border-collapse: collapse; width: 100% } th, td { overflow-wrap: anywhere; text-align: left; padding: .3rem .5rem; border-bottom: 1px solid var(--line) }
td:last-child, th:last-child { text-align: right; font-variant-numeric: tabular-nums }
code { font-size: .8rem; overflow-wrap: anywhere }
`
