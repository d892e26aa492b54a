import { PlanTile } from "@/components/account/plan-tile"
import { Shortage } from "@/components/account/shortage"
import { Count } from "@/components/list/cells"
import { SupportLink } from "@/components/page/support-link"
import { Tile, Tiles } from "@/components/ui/tile"
import { type CreditDay, forecastOf, spentIn } from "@/lib/credits/days"
import { describeForecast, inCredits, shortageOf } from "@/lib/credits/words"
import type { CurrentSubscription } from "@/lib/purchases/subscriptions"

export function AccountTiles({
  balance: { balance, held, neededForCall },
  days,
  requests,
  subscription,
  hasCalled,
}: {
  balance: { balance: number; held: number; neededForCall: number | null }
  days: readonly CreditDay[]
  /** This month. */
  requests: number
  subscription: CurrentSubscription | null
  hasCalled: boolean
}) {
  const forecast = shortageOf(balance, neededForCall) ? null : forecastOf(balance, days)
  return (
    <Tiles>
      <Tile
        lead
        label="Balance"
        note={
          <>
            <Shortage balance={balance} neededForCall={neededForCall} />
            {forecast && <span className="block">{describeForecast(forecast)}</span>}
            {held > 0 && <span className="block">{inCredits(held)} held by runs in progress</span>}
          </>
        }
      >
        {inCredits(balance)}
      </Tile>
      {hasCalled && (
        <>
          <Tile label={`Spent in ${days.length} days`}>{inCredits(spentIn(days))}</Tile>
          <Tile label="Requests this month" note="with all keys">
            <Count value={requests} />
          </Tile>
        </>
      )}
      {subscription ? (
        <PlanTile plan={subscription} includes={<>and {inCredits(subscription.planCredits)}</>} />
      ) : (
        <Tile
          label="Plan"
          note={
            <>
              A plan adds credits every month or year. Contact <SupportLink /> to subscribe.
            </>
          }
        >
          None
        </Tile>
      )}
    </Tiles>
  )
}
