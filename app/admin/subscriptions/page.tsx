import type { Metadata } from "next"
import { GET } from "@/app/api/v1/admin/subscriptions/route"
import { planChoices, planNames } from "@/components/admin/plan-choices"
import { ProviderLink } from "@/components/admin/provider-link"
import { ResourcePage } from "@/components/admin/resource-page"
import { Day, Money, None, Status } from "@/components/list/cells"
import { atProvider } from "@/lib/purchases/provider-objects"
import { withRowActions } from "../row-actions"
import { entry } from "./navigation"
import { viewsOfSubscriptions } from "./views"

export const metadata: Metadata = { title: entry.label }

export default async function SubscriptionsPage({ searchParams }: PageProps<"/admin/subscriptions">) {
  const { panel, list } = await withRowActions("subscriptions", searchParams)
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-6">
      {panel}
      <ResourcePage
        resource="subscriptions"
        title={entry.label}
        endpoint={GET.endpoint}
        {...list}
        choices={planChoices}
        loadRelated={namesAndIds}
        views={viewsOfSubscriptions(new Date())}
        columns={[
          { label: "Account", opens: true, card: "first", cell: ({ userId }, account) => account(userId) },
          {
            label: "Plan",
            cell: ({ id, planId }, _, { plans, subscriptions }) => (
              <>
                {plans.get(planId) ?? planId}
                <ProviderLink of={subscriptions.get(id)} />
              </>
            ),
          },
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
    </div>
  )
}

async function namesAndIds(rows: readonly { id: string }[]) {
  const ids = rows.map(({ id }) => id)
  const [plans, subscriptions] = await Promise.all([planNames(), atProvider("subscription", ids)])
  return { plans, subscriptions }
}
