import type { ReactNode } from "react"
import { Status } from "@/components/list/cells"
import { Tile } from "@/components/ui/tile"
import { plainDate } from "@/lib/platform/text/format-time"
import { type CurrentSubscription, periodEndLabel } from "@/lib/purchases/subscriptions"
import { price } from "./plan-cards"

type Plan = Pick<
  CurrentSubscription,
  "planName" | "status" | "amount" | "currency" | "interval" | "currentPeriodEnd" | "cancelAtPeriodEnd"
>

/** The price is that at the start of the subscription, which may differ from the plan's current price. */
export function PlanTile({ plan, includes, children }: { plan: Plan; includes?: ReactNode; children?: ReactNode }) {
  return (
    <Tile
      label="Plan"
      note={
        <>
          <span className="block">
            {price(plan.amount, plan.currency)} {includes} per {plan.interval}
          </span>
          {periodEndLabel(plan)} <span className="whitespace-nowrap">{plainDate(plan.currentPeriodEnd)}</span>
          {children}
        </>
      }
    >
      <span className="flex flex-wrap items-center gap-x-2">
        {plan.planName} <Status value={plan.status} />
      </span>
    </Tile>
  )
}
