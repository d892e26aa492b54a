import type { Metadata } from "next"
import { GET } from "@/app/api/v1/admin/subscriptions/route"
import { ResourcePage } from "@/components/console/resource-page"
import { Money, Status, Time } from "@/components/list/cells"
import { entry } from "./navigation"

export const metadata: Metadata = { title: entry.label }

export default function SubscriptionsPage({ searchParams }: PageProps<"/admin/subscriptions">) {
  return (
    <ResourcePage
      resource="subscriptions"
      title={entry.label}
      endpoint={GET.endpoint}
      searchParams={searchParams}
      columns={[
        { label: "Account", cell: ({ userId }, account) => account(userId) },
        { label: "Plan", cell: ({ planId }) => planId },
        { label: "Status", cell: ({ status }) => <Status of={status} /> },
        {
          label: "Price",
          numeric: true,
          cell: ({ amount, currency, interval }) => (
            <span className="whitespace-nowrap">
              <Money amount={amount} currency={currency} /> <span className="text-muted">per {interval}</span>
            </span>
          ),
        },
        { label: "Started", cell: ({ createdAt }) => <Time at={createdAt} /> },
        { label: "Period ends", cell: ({ currentPeriodEnd }) => <Time at={currentPeriodEnd} /> },
        { label: "Ended", cell: ({ canceledAt }) => <Time at={canceledAt} /> },
      ]}
    />
  )
}
