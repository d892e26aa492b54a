import { Fact, Facts } from "@/components/facts"
import { Count, None, Status } from "@/components/list/cells"
import { RelativeTime } from "@/components/relative-time"
import type { Account } from "@/lib/console/account"
import { inCredits } from "@/lib/credits/words"
import { holds } from "@/lib/permissions"
import { surfaces } from "@/lib/surfaces"

/** The facts about an account that the viewer's role may read. */
export function AccountFacts({ account, role, now }: { account: Account; role: string; now: Date }) {
  const { subscription, held, liveKeys } = account
  return (
    <Facts>
      <Fact label="Role">{account.role}</Fact>
      <Fact label="Signed up">
        <RelativeTime date={account.createdAt} now={now} />
      </Fact>
      <Fact label="Active keys">{surfaces.map((surface) => `${liveKeys[surface]} ${surface}`).join(", ")}</Fact>
      {holds(role, "credits.read") && (
        <Fact label="Credits">
          <Count of={account.balance} />
          {held > 0 && <span className="text-muted"> and {inCredits(held)} held by runs in progress</span>}
        </Fact>
      )}
      {holds(role, "billing.read") && (
        <Fact label="Subscription">{subscription ? <Subscription {...subscription} now={now} /> : <None />}</Fact>
      )}
      <Fact label="ID">
        <code className="font-mono text-xs wrap-anywhere">{account.id}</code>
      </Fact>
    </Facts>
  )
}

function Subscription({
  planName,
  status,
  periodEnd,
  endsWithPeriod,
  now,
}: NonNullable<Account["subscription"]> & { now: Date }) {
  return (
    <span className="flex flex-wrap items-center gap-x-2">
      {planName} <Status of={status} />
      <span className="text-muted">
        {endsWithPeriod ? "cancels" : "renews"} <RelativeTime date={periodEnd} now={now} />
      </span>
    </span>
  )
}
