import { topUp } from "@optional/payments/top-up"
import type { Metadata } from "next"
import { GET as credits } from "@/app/api/v1/me/credits/route"
import { GET as orders } from "@/app/api/v1/me/orders/route"
import { GET as requests } from "@/app/api/v1/me/requests/route"
import { Chart } from "@/components/chart/chart"
import { periodNames } from "@/components/chart/periods"
import { PageFrame } from "@/components/page/page-frame"
import { SupportLink } from "@/components/page/support-link"
import { Link } from "@/components/ui/link"
import { Notice } from "@/components/ui/notice"
import { Untrusted } from "@/components/values/untrusted"
import { hasJustReturned } from "@/lib/accounts/deletion"
import { progressOf } from "@/lib/accounts/progress"
import { creditDays, spentIn } from "@/lib/credits/days"
import { ownKeys } from "@/lib/keys/data"
import { currentSubscription } from "@/lib/purchases/subscriptions"
import { monthByKey } from "@/lib/request-log/by-key"
import { requireViewer } from "@/lib/sign-in/browser-session"
import { factorsOf } from "@/lib/sign-in/two-factor/factors"
import { AccountTiles } from "./account-tiles"
import { KeyUse, LastOrders, LastRequests } from "./last-rows"
import { entry } from "./navigation"
import { NextSteps } from "./next-steps"
import { PasskeyOffer } from "./passkey-offer"
import { counted } from "./security/two-factor-card"

export const metadata: Metadata = { title: entry.label }

export default async function AccountPage({ searchParams }: PageProps<"/account">) {
  const viewer = await requireViewer("/account")
  const { deletion, recovery } = await searchParams
  const { id, name, email } = viewer
  const sold = topUp()
  const [progress, subscription, { meta: balance }, days, month, lastRequests, lastOrders, keys, isRestored] =
    await Promise.all([
      progressOf(id),
      currentSubscription(id),
      credits.endpoint.read(id, "limit=1"),
      creditDays(id),
      monthByKey(id),
      requests.endpoint.read(id, "limit=5"),
      orders.endpoint.read(id, "limit=1"),
      ownKeys(viewer),
      // Not for a viewer who follows a link with this query.
      deletion === "undone" && hasJustReturned(id),
    ])
  return (
    <PageFrame
      title={entry.label}
      intro={
        <>
          <Untrusted>{name}</Untrusted>, <Untrusted>{email}</Untrusted>
        </>
      }
    >
      {isRestored && (
        <Notice tone="good" role="status">
          Your account will not be deleted, and API keys that have not ended work again.
        </Notice>
      )}
      {recovery === "used" && <RecoveryCodeUsed left={(await factorsOf(id)).recoveryCodesLeft} />}
      {subscription?.status === "past_due" && (
        <Notice tone="warn">
          A payment is overdue.{" "}
          {sold ? (
            <Link href={sold.href} className="font-medium underline">
              Pay it
            </Link>
          ) : (
            <>
              Contact <SupportLink /> to pay it.
            </>
          )}
        </Notice>
      )}
      <NextSteps {...progress} />
      <PasskeyOffer viewer={viewer} />
      <AccountTiles
        balance={balance}
        days={days}
        month={month}
        subscription={subscription}
        hasCalled={progress.hasCalled}
      />
      {spentIn(days) > 0 && (
        <Chart
          title="Credits spent by day (UTC)"
          kind="bar"
          unit="count"
          periods={days.map(({ day }) => periodNames(new Date(day), "day"))}
          series={[{ label: "Spent", values: days.map(({ spent }) => spent) }]}
        />
      )}
      {/* What is empty has a next step above, or a page of its own. */}
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-x-10 gap-y-8 empty:hidden lg:grid-cols-2">
        {lastRequests.data.length > 0 && <LastRequests requests={lastRequests.data} keys={keys} />}
        <div className="grid grid-cols-[minmax(0,1fr)] gap-8 empty:hidden">
          {month.keys.length > 0 && <KeyUse used={month.keys} keys={keys} />}
          {lastOrders.data.length > 0 && <LastOrders orders={lastOrders.data} />}
        </div>
      </div>
    </PageFrame>
  )
}

function RecoveryCodeUsed({ left }: { left: number }) {
  return (
    <Notice tone="warn" role="status">
      You signed in with a recovery code, and have {counted(left, "code")} left.{" "}
      <Link href="/account/security/two-factor" className="underline">
        Add another passkey or app, or create new codes
      </Link>
      .
    </Notice>
  )
}
