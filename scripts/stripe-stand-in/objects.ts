import type Stripe from "stripe"

// The fields of Stripe's objects that the stand-in keeps, with the types of Stripe's package. References are ids, which
// `expand` resolves when an object is sent.

export const apiVersion = "2026-10-28.endive"

type Fields<T, Key extends keyof T> = Pick<T, Key | Extract<keyof T, "id" | "object" | "created" | "livemode">>
type List<T> = { object: "list"; data: T[]; has_more: boolean; url: string }
type Metadata = Record<string, string>

export type Customer = Fields<
  Stripe.Customer,
  "balance" | "currency" | "default_source" | "delinquent" | "description" | "email" | "metadata" | "name" | "shipping"
> & {
  invoice_settings: {
    custom_fields: null
    default_payment_method: string | null
    footer: null
    rendering_options: null
  }
  deleted?: true
}

export type Product = Fields<Stripe.Product, "active" | "description" | "metadata" | "name" | "type" | "updated"> & {
  default_price: null
  tax_code: string | null
}

export type Price = Fields<Stripe.Price, "active" | "billing_scheme" | "currency" | "metadata" | "tax_behavior"> & {
  product: string
  type: "one_time" | "recurring"
  unit_amount: number
  unit_amount_decimal: string
  recurring: {
    interval: "month" | "year"
    interval_count: number
    meter: null
    trial_period_days: null
    usage_type: "licensed"
  } | null
}

export type PaymentMethod = Fields<Stripe.PaymentMethod, "type"> & {
  customer: string | null
  card: { brand: string; last4: string; exp_month: number; exp_year: number } | null
}

type Failure = { code: string; decline_code: string | null; message: string; type: "card_error" }

export type PaymentIntent = Fields<
  Stripe.PaymentIntent,
  | "amount"
  | "amount_received"
  | "canceled_at"
  | "cancellation_reason"
  | "capture_method"
  | "client_secret"
  | "confirmation_method"
  | "currency"
  | "description"
  | "managed_payments"
  | "payment_method_types"
  | "setup_future_usage"
> & {
  customer: string | null
  last_payment_error: Failure | null
  latest_charge: string | null
  metadata: Metadata
  next_action: { type: "redirect_to_url" } | null
  payment_method: string | null
  status: "requires_payment_method" | "requires_action" | "processing" | "succeeded" | "canceled"
}

export type Charge = Fields<
  Stripe.Charge,
  | "amount"
  | "amount_captured"
  | "amount_refunded"
  | "captured"
  | "currency"
  | "description"
  | "disputed"
  | "failure_code"
  | "failure_message"
  | "paid"
  | "payment_method"
  | "receipt_url"
  | "refunded"
> & {
  customer: string | null
  metadata: Metadata
  payment_intent: string
  status: "succeeded" | "pending" | "failed"
}

export type Refund = Fields<Stripe.Refund, "amount" | "currency" | "metadata" | "reason"> & {
  charge: string
  payment_intent: string
  failure_reason?: string
  status: "succeeded" | "failed"
}

export type Dispute = Fields<Stripe.Dispute, "amount" | "currency" | "is_charge_refundable" | "metadata" | "reason"> & {
  charge: string
  payment_intent: string
  status: "needs_response" | "won" | "lost"
}

export type InvoiceLine = {
  id: string
  object: "line_item"
  amount: number
  currency: string
  description: string
  invoice: string
  livemode: false
  metadata: Metadata
  parent: {
    invoice_item_details: null
    subscription_item_details: {
      invoice_item: null
      proration: boolean
      proration_details: { credited_items: null }
      subscription: string
      subscription_item: string
    }
    type: "subscription_item_details"
  }
  period: { start: number; end: number }
  pricing: {
    price_details: { price: string; product: string }
    type: "price_details"
    unit_amount_decimal: string
  }
  quantity: number
  subscription: string
  subtotal: number
}

export type Invoice = Fields<
  Stripe.Invoice,
  | "amount_due"
  | "amount_paid"
  | "amount_remaining"
  | "attempt_count"
  | "attempted"
  | "auto_advance"
  | "collection_method"
  | "currency"
  | "customer_email"
  | "description"
  | "ending_balance"
  | "hosted_invoice_url"
  | "metadata"
  | "next_payment_attempt"
  | "number"
  | "period_end"
  | "period_start"
  | "starting_balance"
  | "status_transitions"
  | "subtotal"
  | "total"
> & {
  billing_reason: "subscription_create" | "subscription_cycle" | "subscription_update"
  customer: string
  lines: List<InvoiceLine>
  parent: {
    quote_details: null
    subscription_details: { metadata: Metadata; subscription: string }
    type: "subscription_details"
  }
  status: "draft" | "open" | "paid" | "uncollectible" | "void"
}

type InvoicePayment = Fields<
  Stripe.InvoicePayment,
  "amount_paid" | "amount_requested" | "currency" | "is_default" | "status_transitions"
> & {
  invoice: string
  payment: { type: "payment_intent"; payment_intent: string }
  status: "open" | "paid" | "canceled"
}

type SubscriptionItem = {
  id: string
  object: "subscription_item"
  created: number
  current_period_start: number
  current_period_end: number
  metadata: Metadata
  price: Price
  quantity: number
  subscription: string
}

export type Subscription = Fields<
  Stripe.Subscription,
  | "billing_cycle_anchor"
  | "cancel_at"
  | "cancel_at_period_end"
  | "canceled_at"
  | "collection_method"
  | "currency"
  | "ended_at"
  | "managed_payments"
  | "start_date"
  | "trial_end"
> & {
  billing_mode: { flexible: null; type: "flexible" }
  cancellation_details: { comment: null; feedback: null; reason: string | null }
  customer: string
  default_payment_method: string | null
  items: List<SubscriptionItem>
  latest_invoice: string | null
  metadata: Metadata
  schedule: string | null
  status: "incomplete" | "active" | "past_due" | "canceled" | "incomplete_expired"
}

export type Phase = {
  start_date: number
  end_date: number
  items: { price: string; quantity: number; metadata: Metadata }[]
  metadata: Metadata
  proration_behavior: string
}

export type Schedule = Fields<
  Stripe.SubscriptionSchedule,
  "canceled_at" | "completed_at" | "current_phase" | "metadata" | "released_at" | "released_subscription"
> & {
  customer: string
  end_behavior: "release" | "cancel"
  phases: Phase[]
  status: "active" | "released" | "canceled"
  subscription: string | null
}

export type CheckoutSession = Fields<
  Stripe.Checkout.Session,
  | "amount_subtotal"
  | "amount_total"
  | "cancel_url"
  | "client_reference_id"
  | "currency"
  | "customer_details"
  | "customer_email"
  | "expires_at"
  | "managed_payments"
  | "payment_method_types"
  | "success_url"
  | "url"
> & {
  customer: string | null
  customer_creation: "always" | "if_required" | null
  invoice: string | null
  metadata: Metadata
  mode: "payment" | "subscription"
  payment_intent: string | null
  payment_status: "paid" | "unpaid"
  status: "open" | "complete" | "expired"
  subscription: string | null
}

export type PortalSession = Fields<Stripe.BillingPortal.Session, "return_url" | "url"> & {
  configuration: string
  customer: string
}

export type Event = Fields<Stripe.EventBase, "api_version" | "pending_webhooks" | "request"> & {
  data: { object: unknown; previous_attributes?: Record<string, unknown> }
  type: string
}

export type Stored = {
  customer: Customer
  product: Product
  price: Price
  payment_method: PaymentMethod
  payment_intent: PaymentIntent
  charge: Charge
  refund: Refund
  dispute: Dispute
  invoice: Invoice
  invoice_payment: InvoicePayment
  subscription: Subscription
  subscription_schedule: Schedule
  "checkout.session": CheckoutSession
  "billing_portal.session": PortalSession
  event: Event
}

export type Kind = keyof Stored

export const prefixes: Record<Kind, string> = {
  customer: "cus_",
  product: "prod_",
  price: "price_",
  payment_method: "pm_",
  payment_intent: "pi_",
  charge: "ch_",
  refund: "re_",
  dispute: "du_",
  invoice: "in_",
  invoice_payment: "inpay_",
  subscription: "sub_",
  subscription_schedule: "sub_sched_",
  "checkout.session": "cs_test_",
  "billing_portal.session": "bps_",
  event: "evt_",
}
