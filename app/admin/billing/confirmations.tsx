import type { Confirmation } from "@/components/confirm/confirm-form"
import { RequestId, SelectField, TextField } from "@/components/form/fields"
import { Untrusted } from "@/components/values/untrusted"
import type { ProviderAction } from "@/generated/prisma/enums"
import { plainDate } from "@/lib/platform/text/format-time"
import { decimal, money } from "@/lib/platform/text/money"
import type { Order, Subscription } from "../row-actions"
import { cancel, refund, withdraw } from "./actions"

/** `email` is undefined if the viewer may not read accounts. */
type Owned = { id: string; email: string | undefined }

export type RefundSubject = Owned & {
  requestId: string
  description: string
  amount: number
  refundedAmount: number
  currency: string
}

export function isRefundable({ status }: Pick<Order, "status">): boolean {
  return status === "paid" || status === "partially_refunded"
}

export function refundOf({ id, email, requestId, description, ...order }: RefundSubject): Confirmation {
  const { amount, refundedAmount, currency } = order
  return {
    title: "Refund this order",
    description: (
      <>
        <Named name={description} email={email} />: {money(amount, currency)}
        {refundedAmount > 0 && `, of which ${money(refundedAmount, currency)} was refunded`}. Its credits are taken back
        in the same proportion. The account owes the ones that it has spent.
      </>
    ),
    action: refund,
    fields: (
      <>
        <input type="hidden" name="id" value={id} />
        <RequestId id={requestId} />
        <TextField
          label={`Amount in ${currency.toUpperCase()}`}
          name="amount"
          inputMode="decimal"
          autoComplete="off"
          defaultValue={decimal(amount - refundedAmount, currency)}
          required
        />
        <ReasonField />
      </>
    ),
    submit: "Refund",
    kind: "danger",
  }
}

export type CancellationSubject = Owned & { plan: string; price: string; periodEnd: Date; cancelAtPeriodEnd: boolean }

export function isCancelable({ status }: Pick<Subscription, "status">): boolean {
  return status !== "canceled"
}

export function cancellationOf({ id, email, plan, price, ...subscription }: CancellationSubject): Confirmation {
  const { cancelAtPeriodEnd } = subscription
  const end = plainDate(subscription.periodEnd)
  return {
    title: "Cancel this subscription",
    description: (
      <>
        <Named name={plan} email={email} />: {price}. Its period ends on {end}
        {cancelAtPeriodEnd && ", and the subscription with it"}. Nothing is refunded, and the credits stay.
      </>
    ),
    action: cancel,
    fields: (
      <>
        <input type="hidden" name="id" value={id} />
        <SelectField
          label="It ends"
          name="at"
          required
          options={{ ...(!cancelAtPeriodEnd && { period_end: `with its period, on ${end}` }), now: "now" }}
          defaultValue={cancelAtPeriodEnd ? "now" : "period_end"}
        />
        <ReasonField />
      </>
    ),
    submit: "Cancel subscription",
    kind: "danger",
    dismiss: "Keep subscription",
  }
}

export type WithdrawalSubject = Owned & { action: ProviderAction; objectId: string }

export const actionNames: Record<ProviderAction, string> = {
  cancel_now: "End a subscription",
  cancel_at_period_end: "End a subscription with its period",
  forget_customer: "Delete a customer",
  refund: "Refund",
}

export function withdrawalOf({ id, email, action, objectId }: WithdrawalSubject): Confirmation {
  return {
    title: "Withdraw this request",
    description: (
      <>
        <Named name={`${actionNames[action]}, ${objectId}`} email={email} />: it is not tried again. An attempt that is
        under way may still succeed. At the provider, do by hand what is still necessary.
      </>
    ),
    action: withdraw,
    fields: (
      <>
        <input type="hidden" name="id" value={id} />
        <ReasonField />
      </>
    ),
    submit: "Withdraw request",
    kind: "danger",
  }
}

function Named({ name, email }: { name: string; email: string | undefined }) {
  return (
    <>
      <strong className="font-semibold text-ink wrap-anywhere">
        <Untrusted>{name}</Untrusted>
      </strong>
      {email && (
        <>
          {" of "}
          <span className="wrap-anywhere">
            <Untrusted>{email}</Untrusted>
          </span>
        </>
      )}
    </>
  )
}

export function ReasonField() {
  return (
    <TextField
      label="Reason"
      name="reason"
      autoComplete="off"
      maxLength={200}
      hint="Recorded in the audit log."
      required
    />
  )
}
