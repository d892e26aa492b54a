import { randomUUID } from "node:crypto"
import type { ReactNode } from "react"
import { planNames } from "@/components/admin/plan-choices"
import type { Confirmation } from "@/components/confirm/confirm-form"
import { ConfirmPanel } from "@/components/confirm/confirm-panel"
import { RowActions, RowButton, rowId } from "@/components/ui/table"
import { emailsOf } from "@/lib/accounts/addresses"
import { holds } from "@/lib/permissions"
import { money } from "@/lib/platform/text/money"
import { findOrder, findSubscription } from "@/lib/purchases/provider-objects"
import { currentViewer } from "@/lib/sign-in/browser-session"
import type { ModuleActions, Order, Subscription } from "../row-actions"
import { CancellationButtons, RefundButtons } from "./billing-buttons"
import { cancellationOf, isCancelable, isRefundable, refundOf } from "./confirmations"

export const actions: ModuleActions = {
  permission: "billing.manage",
  lists: {
    orders: {
      name: "refund",
      form: {
        around: (table, rows) => <Refunds orders={rows}>{table}</Refunds>,
        actions: (order) => <RowAction name="refund" id={order.id} label={isRefundable(order) && "Refund"} />,
      },
      panel: async (id) => {
        const order = await findOrder(id)
        if (!order) return null
        const unavailable = !isRefundable(order) && "This order is not paid, or is refunded in full."
        const [subject] = await refundsOf([order])
        return subject && <Confirm page="/admin/orders" confirmation={refundOf(subject)} unavailable={unavailable} />
      },
    },
    subscriptions: {
      name: "cancel",
      form: {
        around: (table, rows) => <Cancellations subscriptions={rows}>{table}</Cancellations>,
        actions: (row) => <RowAction name="cancel" id={row.id} label={isCancelable(row) && "Cancel"} />,
      },
      panel: async (id) => {
        const found = await findSubscription(id)
        if (!found) return null
        const unavailable = !isCancelable(found) && "This subscription has ended."
        const [subject] = await cancellationsOf([found])
        const confirmation = subject && cancellationOf(subject)
        return confirmation && <Confirm page="/admin/subscriptions" {...{ confirmation, unavailable }} />
      },
    },
  },
  ofAccount: (id) => [
    { label: "Record a purchase", href: `/admin/billing/purchase?account=${id}` },
    { label: "Refund an order", href: `/admin/orders?userId=${id}` },
    { label: "Cancel a subscription", href: `/admin/subscriptions?userId=${id}` },
  ],
}

function RowAction({ name, id, label }: { name: string; id: string; label: string | false }) {
  return (
    <RowActions>
      {label && (
        <RowButton danger name={name} value={id} aria-describedby={rowId(id)}>
          {label}
        </RowButton>
      )}
    </RowActions>
  )
}

function Confirm({ page, ...confirm }: { page: string; confirmation: Confirmation; unavailable: string | false }) {
  return (
    <div className="mx-auto w-full max-w-6xl">
      <ConfirmPanel page={page} back="Back to the list" {...confirm} />
    </div>
  )
}

async function Refunds({ orders, children }: { orders: readonly Order[]; children: ReactNode }) {
  return <RefundButtons subjects={await refundsOf(orders)}>{children}</RefundButtons>
}

async function Cancellations({
  subscriptions,
  children,
}: {
  subscriptions: readonly Subscription[]
  children: ReactNode
}) {
  return <CancellationButtons subjects={await cancellationsOf(subscriptions)}>{children}</CancellationButtons>
}

/** Each has its own request: a refund of one order must not count as repeated because of another. */
async function refundsOf(orders: readonly Pick<Order, "userId" | Facts>[]) {
  const emails = await readableEmails(orders)
  return orders.map(({ id, userId, description, amount, refundedAmount, currency }) => {
    const request = { requestId: randomUUID(), email: emails?.get(userId) }
    return { id, description, amount, refundedAmount, currency, ...request }
  })
}

type Facts = "id" | "description" | "amount" | "refundedAmount" | "currency"

async function cancellationsOf(
  subscriptions: readonly (Pick<
    Subscription,
    "id" | "userId" | "planId" | "amount" | "currency" | "interval" | "cancelAtPeriodEnd"
  > & { currentPeriodEnd: string | Date })[],
) {
  const [emails, plans] = await Promise.all([readableEmails(subscriptions), planNames()])
  return subscriptions.map(
    ({ id, userId, planId, amount, currency, interval, cancelAtPeriodEnd, currentPeriodEnd }) => ({
      ...{ id, cancelAtPeriodEnd, email: emails?.get(userId), plan: plans.get(planId) ?? planId },
      price: `${money(amount, currency)} per ${interval}`,
      periodEnd: new Date(currentPeriodEnd),
    }),
  )
}

async function readableEmails(rows: readonly { userId: string }[]) {
  const viewer = await currentViewer()
  return viewer && holds(viewer.role, "users.read") ? emailsOf(rows.map(({ userId }) => userId)) : undefined
}
