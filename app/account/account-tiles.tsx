import { topUp } from "@optional/payments/top-up"
import { PlanTile } from "@/components/account/plan-tile"
import { Shortage } from "@/components/account/shortage"
import { Count } from "@/components/list/cells"
import { SupportLink } from "@/components/page/support-link"
import { Link } from "@/components/ui/link"
import { Tile, Tiles } from "@/components/ui/tile"
import { type CreditDay, forecastOf, spentIn } from "@/lib/credits/days"
import { describeForecast, inCredits, shortageOf } from "@/lib/credits/words"
import type { CurrentSubscription } from "@/lib/purchases/subscriptions"

export function AccountTiles({
  balance: { balance, held, neededForCall },
  days,
  month,
  subscription,
  hasCalled,
}: {
  balance: { balance: number; held: number; neededForCall: number | null }
  days: readonly CreditDay[]
  month: { requests: number; failed: number }
  subscription: CurrentSubscription | null
  hasCalled: boolean
}) {
  const sold = topUp()
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
          <Tile
            label="Requests this month"
            note={
              month.failed > 0 ? (
                <Link href="/account/requests?status=failed" className="text-bad underline">
                  <Count value={month.failed} /> failed
                </Link>
              ) : (
                "None failed"
              )
            }
          >
            <Count value={month.requests} />
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
              A plan adds credits every month or year.{" "}
              {sold ? (
                <Link href={sold.href} className="font-medium text-accent underline">
                  Choose a plan
                </Link>
              ) : (
                <>
                  Contact <SupportLink /> to subscribe.
                </>
              )}
            </>
          }
        >
          None
        </Tile>
      )}
    </Tiles>
  )
}
