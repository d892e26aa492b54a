import { Fact, Facts } from "@/components/facts"
import { Count, Money, Status } from "@/components/list/cells"
import { Notice } from "@/components/notice"
import { RelativeTime } from "@/components/relative-time"
import { SupportLink } from "@/components/support-link"
import { longDate } from "@/lib/format-time"
import type { CurrentSubscription } from "@/lib/subscriptions"

/** The label of the current period's end, unless the subscription cancels on that date. */
const periodEnds: Record<CurrentSubscription["status"], string> = {
  trialing: "Trial ends",
  active: "Renews",
  past_due: "Period ends",
  canceled: "Ended",
}

/** The price is the one at which the subscription started, which may differ from the plan's current price. */
export function SubscriptionFacts({
  planName,
  planCredits,
  status,
  amount,
  currency,
  interval,
  createdAt,
  currentPeriodEnd,
  cancelAtPeriodEnd,
  now,
}: CurrentSubscription & { now: Date }) {
  return (
    <>
      {status === "past_due" && (
        <Notice tone="warn">
          A payment is overdue. Contact <SupportLink /> to pay it.
        </Notice>
      )}
      <Facts>
        <Fact label="Plan">
          <span className="flex flex-wrap items-center gap-x-2">
            {planName} <Status of={status} />
          </span>
        </Fact>
        <Fact label="Price">
          <Money amount={amount} currency={currency} /> per {interval}
        </Fact>
        <Fact label={cancelAtPeriodEnd ? "Cancels on" : periodEnds[status]}>
          {longDate(currentPeriodEnd)}, <RelativeTime date={currentPeriodEnd} now={now} />
        </Fact>
        <Fact label="Credits">
          <Count of={planCredits} /> per {interval}
        </Fact>
        <Fact label="Started">{longDate(createdAt)}</Fact>
      </Facts>
    </>
  )
}
