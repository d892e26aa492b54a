import type { Metadata } from "next"
import { GET } from "@/app/api/v1/admin/subscriptions/route"
import { planChoices } from "@/components/admin/plan-choices"
import { ResourcePage } from "@/components/admin/resource-page"
import { Day, Money, None, ReadableId, Status } from "@/components/list/cells"
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
      views={viewsOfSubscriptions(new Date())}
      columns={[
        { label: "Account", opens: true, cell: ({ userId }, account) => account(userId) },
        { label: "Plan", cell: ({ planId }) => <ReadableId value={planId} /> },
        { label: "Status", cell: ({ status }) => <Status value={status} /> },
        {
          label: "Price",
          numeric: true,
          cell: ({ amount, currency, interval }) => (
            <span className="whitespace-nowrap">
              <Money amount={amount} currency={currency} /> <span className="text-muted">/ {interval}</span>
            </span>
          ),
        },
        { label: "Started", sort: "createdAt", cell: ({ createdAt }) => <Day at={createdAt} /> },
        { label: "Period ends", cell: ({ currentPeriodEnd }) => <Day at={currentPeriodEnd} /> },
        {
          label: "Cancels",
          cell: ({ cancelAtPeriodEnd, canceledAt }) => (cancelAtPeriodEnd && canceledAt === null ? "Yes" : <None />),
        },
        {
          label: "Ended",
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
