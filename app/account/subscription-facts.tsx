import { Fact, Facts } from "@/components/facts"
import { Count, Money, Status } from "@/components/list/cells"
import { Notice } from "@/components/notice"
import { RelativeTime } from "@/components/relative-time"
import type { CurrentSubscription } from "@/lib/subscriptions"
import { longDate } from "@/lib/time-words"

/** What the end of the current period means, unless the subscription ends with it. */
const periodEnds: Record<CurrentSubscription["status"], string> = {
  trialing: "Trial ends",
  active: "Renews",
  past_due: "Period ends",
  canceled: "Ended",
}

/** A subscription in words. Its price is the one it was begun at, whatever the plan costs today. */
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
        <Notice tone="warn">A payment is overdue. Whoever runs this service can say how to make up for it.</Notice>
      )}
      <Facts>
        <Fact label="Plan">
          <span className="flex flex-wrap items-center gap-x-2">
            {planName} <Status of={status} />
          </span>
        </Fact>
        <Fact label="Price">
          <Money amount={amount} currency={currency} /> a {interval}
        </Fact>
        <Fact label={cancelAtPeriodEnd ? "Ends, and is not renewed" : periodEnds[status]}>
          {longDate(currentPeriodEnd)}, <RelativeTime date={currentPeriodEnd} now={now} />
        </Fact>
        <Fact label="Credits">
          <Count of={planCredits} /> a {interval}
        </Fact>
        <Fact label="Since">{longDate(createdAt)}</Fact>
      </Facts>
    </>
  )
}
