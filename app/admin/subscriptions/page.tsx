import type { Metadata } from "next"
import { GET } from "@/app/api/v1/admin/subscriptions/route"
import { planChoices, planNames } from "@/components/admin/plan-choices"
import { ResourcePage } from "@/components/admin/resource-page"
import { Day, Money, None, Status } from "@/components/list/cells"
import { entry } from "./navigation"
import { viewsOfSubscriptions } from "./views"

export const metadata: Metadata = { title: entry.label }

export default function SubscriptionsPage({ searchParams }: PageProps<"/admin/subscriptions">) {
  return (
    <ResourcePage
      resource="subscriptions"
      title={entry.label}
      endpoint={GET.endpoint}
      searchParams={searchParams}
      choices={planChoices}
      loadRelated={planNames}
      views={viewsOfSubscriptions(new Date())}
      columns={[
        { label: "Account", opens: true, card: "first", cell: ({ userId }, account) => account(userId) },
        { label: "Plan", cell: ({ planId }, _, plans) => plans.get(planId) ?? planId },
        { label: "Status", cell: ({ status }) => <Status value={status} /> },
        {
          label: "Price",
          numeric: true,
          card: "end",
          cell: ({ amount, currency, interval }) => (
            <span className="whitespace-nowrap">
              <Money amount={amount} currency={currency} /> <span className="text-muted">/ {interval}</span>
            </span>
          ),
        },
        { label: "Started", sort: "createdAt", cell: ({ createdAt }) => <Day at={createdAt} /> },
        { label: "Period ends", card: "none", cell: ({ currentPeriodEnd }) => <Day at={currentPeriodEnd} /> },
        {
          label: "Cancels",
          card: "named",
          cell: ({ cancelAtPeriodEnd, canceledAt }) => (cancelAtPeriodEnd && canceledAt === null ? "Yes" : <None />),
        },
        {
          label: "Ended",
          card: "named",
          cell: ({ canceledAt, replaced }) => (
            <span>
              <Day at={canceledAt} />
              {replaced && <span className="block text-xs text-muted">plan changed</span>}
            </span>
          ),
        },
      ]}
    />
  )
}
