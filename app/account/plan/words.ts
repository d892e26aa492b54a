import type { Changed, Ended } from "@/lib/payments/plan-changes"
import type { Returned } from "@/lib/payments/returned"

type Reason = Extract<Changed | Ended, { ok: false }>["reason"]

/** Why a plan does not change. */
export const obstacles: Record<Reason, string> = {
  no_plan: "You have no plan. Reload this page.",
  not_bought_here: "This plan was not bought here. Contact us to change it.",
  not_sold: "This plan is no longer sold.",
  same: "This is your plan already.",
  other_currency: "A plan keeps its currency. Cancel it, and subscribe again once it has ended.",
  past_due: "A payment is overdue. Pay it first, under “Invoices, receipts and cards”.",
  ending: "Your plan ends with its period. Resume it first.",
  changing: "Another change of your plan is being made. Try again in a few minutes.",
  not_active: "This account cannot buy anything.",
}

/** Of a checkout to which its customer returns. */
export const returns: Record<Returned, { tone: "good" | "warn" | "bad"; text: string }> = {
  paid: { tone: "good", text: "Thank you. Your payment has arrived, and its credits have been added." },
  processing: {
    tone: "warn",
    text: "Your bank is processing the payment. Its credits are added when it arrives; reload this page to see it.",
  },
  not_paid: { tone: "warn", text: "This checkout is not paid. If you have just paid, reload this page in a moment." },
  failed: { tone: "bad", text: "The payment failed, and nothing was charged. Try again, perhaps with another card." },
  not_yours: { tone: "bad", text: "This checkout does not belong to your account." },
  away: {
    tone: "warn",
    text: "The payment provider does not respond. A payment that you made is not lost: reload this page in a minute.",
  },
  too_many: { tone: "warn", text: "You reloaded this page too often. A payment that you made is not lost." },
}
