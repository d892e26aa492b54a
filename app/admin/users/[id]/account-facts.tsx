import type { ReactNode } from "react"
import { Count, None, Status } from "@/components/list/cells"
import { RelativeTime } from "@/components/relative-time"
import { surfaces } from "@/lib/keys/kinds"
import { holds } from "@/lib/permissions"
import type { Account } from "@/lib/users/data"
import { inCredits } from "./account-actions"

/** What is known of an account, as far as the viewer's role may read it. */
export function AccountFacts({ account, role, now }: { account: Account; role: string; now: Date }) {
  const { subscription, held, liveKeys } = account
  return (
    <dl className="grid gap-x-6 gap-y-4 rounded-lg border border-line bg-panel p-4 sm:grid-cols-2 lg:grid-cols-3">
      <Fact label="Role">{account.role}</Fact>
      <Fact label="Signed up">
        <RelativeTime date={account.createdAt} now={now} />
      </Fact>
      <Fact label="Live keys">{surfaces.map((surface) => `${liveKeys[surface]} ${surface}`).join(", ")}</Fact>
      {holds(role, "credits.read") && (
        <Fact label="Credits">
          <Count of={account.balance} />
          {held > 0 && <span className="text-muted"> and {inCredits(held)} held by runs under way</span>}
        </Fact>
      )}
      {holds(role, "billing.read") && (
        <Fact label="Subscription">{subscription ? <Subscription {...subscription} now={now} /> : <None />}</Fact>
      )}
      <Fact label="Id">
        <code className="font-mono text-xs wrap-anywhere">{account.id}</code>
      </Fact>
    </dl>
  )
}

function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="grid content-start gap-1">
      <dt className="text-xs text-muted">{label}</dt>
      <dd>{children}</dd>
    </div>
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
        {endsWithPeriod ? "ends" : "renews"} <RelativeTime date={periodEnd} now={now} />
      </span>
    </span>
  )
}
