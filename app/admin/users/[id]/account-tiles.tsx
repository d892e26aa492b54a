import { neededForCall } from "@/app/api/v1/needed-for-call"
import { PlanTile } from "@/components/account/plan-tile"
import { Count, Money, None } from "@/components/list/cells"
import { daysAgo } from "@/components/list/dates"
import { Tile, Tiles } from "@/components/ui/tile"
import { formatters } from "@/components/values/units"
import { type Account, netRevenueOf } from "@/lib/accounts/overview"
import { owedBy } from "@/lib/credits/balance"
import { inCredits, shortageOf } from "@/lib/credits/words"
import { holds } from "@/lib/permissions"
import { shownDays, type Use } from "./account-use"

const whole = formatters.count.full

export async function AccountTiles({ account, role, use }: { account: Account; role: string; use: Use | null }) {
  const { id, balance, held, subscription } = account
  const readsCredits = holds(role, "credits.read")
  const readsBilling = holds(role, "billing.read")
  if (!readsCredits && !readsBilling && !use) return null
  const shortage = shortageOf(balance, await neededForCall())
  const owed = (await owedBy([id])).get(id) ?? 0
  return (
    <Tiles>
      {readsCredits && (
        <Tile
          lead
          label="Balance"
          note={
            <>
              {shortage && <span className="block text-warn">{shortage}</span>}
              {owed > 0 && <span className="block text-warn">owes {inCredits(owed)} after a refund or dispute</span>}
              {held > 0 && <span className="block">{inCredits(held)} held by runs in progress</span>}
            </>
          }
        >
          <Count value={balance} />
        </Tile>
      )}
      {readsBilling && (subscription ? <PlanTile plan={subscription} /> : <NoPlan />)}
      {use && (
        <Tile
          label={`Requests in ${shownDays} days`}
          href={`/admin/requests?userId=${id}&since=${daysAgo(shownDays - 1, new Date())}`}
          note={`${whole(sumOf(use.errors))} failed`}
        >
          {whole(sumOf(use.requests))}
        </Tile>
      )}
      {readsBilling && <Revenue amounts={await netRevenueOf(id)} />}
    </Tiles>
  )
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}

function NoPlan() {
  return (
    <Tile label="Plan">
      <None />
    </Tile>
  )
}

function Revenue({ amounts }: { amounts: Awaited<ReturnType<typeof netRevenueOf>> }) {
  return (
    <Tile label="Revenue" note="paid, less refunds">
      {amounts.length === 0 && <None />}
      {amounts.map(({ amount, currency }) => (
        <span key={currency} className="block">
          <Money amount={amount} currency={currency} />
        </span>
      ))}
    </Tile>
  )
}
