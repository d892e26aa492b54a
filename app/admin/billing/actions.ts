"use server"

import { revalidatePath } from "next/cache"
import { done, formAction, invalid, type Message, refused } from "@/lib/form/action"
import { cancellationForm, cancelSubscription } from "@/lib/payments/cancel-subscription"
import { paymentProvider } from "@/lib/payments/configured"
import { purchaseForm, recordPurchase } from "@/lib/payments/record-purchase"
import { refundForm, refundOrder } from "@/lib/payments/refund-order"
import type { StaffRefusal } from "@/lib/payments/staff"
import { withdrawalForm, withdrawRequest } from "@/lib/payments/withdraw-request"
import { money } from "@/lib/platform/text/money"

const refusals = {
  not_permitted: "Your role lacks the permission for this action. Ask an owner or admin.",
  oneself: "You cannot do this on your own account. Ask another member of your team.",
  erased: "The personal data of this account is being deleted or was deleted. Use the dashboard of the provider.",
  no_provider: "The provider of this payment is not configured on this server. Use its dashboard.",
} as const satisfies Partial<Record<StaffRefusal | "no_provider", string>>

const notFound = { not_found: "It does not exist." }

const waits = {
  text: "The payment provider has not done this yet. It is stored, and repeated until it succeeds.",
  href: "/admin/billing",
  link: "Pending requests",
}

const repeatedForm = "This form was already submitted. It was not applied again."

const requestIsDone = "The payment provider has done this already."

export const refund = formAction({
  fields: refundForm,
  permission: "billing.manage",
  fresh: true,
  act: async (form, { viewer }) => {
    const result = await refundOrder(paymentProvider(), viewer.id, form)
    revalidatePath("/admin", "layout")
    if (result.ok) {
      if (!result.made) return done<Message>(waits)
      const what = `${money(result.amount, result.currency)} refunded.`
      return done<Message>(result.repeated ? `${what} ${repeatedForm}` : what)
    }
    if (result.reason === "too_much")
      return invalid({ amount: `At most ${money(result.left, result.currency)} can be refunded.` })
    const ofOrder = {
      not_paid: "This order is not paid.",
      refunded: "This order is refunded in full, or a refund of the rest is on its way.",
      other_request: "This form belongs to another request. Reload the page and try again.",
      withdrawn: "This refund was withdrawn. Reload the page to start another one.",
    }
    return refused({ ...refusals, ...notFound, ...ofOrder }[result.reason])
  },
})

export const cancel = formAction({
  fields: cancellationForm,
  permission: "billing.manage",
  fresh: true,
  act: async (form, { viewer }) => {
    const result = await cancelSubscription(paymentProvider(), viewer.id, form)
    revalidatePath("/admin", "layout")
    if (!result.ok) return refused({ ...refusals, ...notFound }[result.reason])
    if (!result.made) return done<Message>(waits)
    if (form.at === "now")
      return done<Message>(result.changed ? "The subscription has ended." : "The subscription has already ended.")
    return done<Message>(
      result.changed
        ? "The subscription ends with its period."
        : "The subscription already ends with its period, or has ended.",
    )
  },
})

export const withdraw = formAction({
  fields: withdrawalForm,
  permission: "billing.manage",
  fresh: true,
  act: async (form, { viewer }) => {
    const result = await withdrawRequest(viewer.id, form)
    revalidatePath("/admin", "layout")
    if (!result.ok) return refused({ ...refusals, ...notFound, made: requestIsDone }[result.reason])
    return done<Message>(result.repeated ? `Request withdrawn. ${repeatedForm}` : "Request withdrawn.")
  },
})

export const record = formAction({
  fields: purchaseForm,
  permission: "billing.manage",
  fresh: true,
  act: async (form, { viewer }) => {
    const result = await recordPurchase(viewer.id, form)
    revalidatePath("/admin", "layout")
    if (!result.ok) {
      const { reason } = result
      if (reason === "not_found") return invalid({ account: "No account has this email address or ID." })
      if (reason === "closed") return invalid({ account: "This account is closed, so it gets no credits." })
      if (reason === "number_taken") return invalid({ invoice: "Another purchase has this invoice number." })
      if (reason === "wrong_amount") return invalid({ amount: "The currency has no such amount." })
      return refused({ ...refusals }[reason])
    }
    const { repeated, name, userId } = result
    const text = repeated ? `${name} with this invoice number was already recorded.` : `${name} recorded.`
    return done<Message>({ text, href: `/admin/orders?userId=${userId}`, link: "Show the order" })
  },
})
