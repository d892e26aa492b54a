import type { Metadata } from "next"
import { GET } from "@/app/api/v1/admin/orders/route"
import { planChoices } from "@/components/admin/plan-choices"
import { ProviderLink } from "@/components/admin/provider-link"
import { ResourcePage } from "@/components/admin/resource-page"
import { Day, Money, None, Status } from "@/components/list/cells"
import { CopyText } from "@/components/ui/copy-text"
import { Untrusted } from "@/components/values/untrusted"
import { visible } from "@/lib/platform/text/visible-text"
import { atProvider } from "@/lib/purchases/provider-objects"
import { withRowActions } from "../row-actions"
import { entry } from "./navigation"

export const metadata: Metadata = { title: entry.label }

export default async function OrdersPage({ searchParams }: PageProps<"/admin/orders">) {
  const { panel, list } = await withRowActions("orders", searchParams)
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-6">
      {panel}
      <ResourcePage
        resource="orders"
        title={entry.label}
        endpoint={GET.endpoint}
        {...list}
        loadRelated={paymentsOf}
        choices={planChoices}
        views={[
          { label: "Paid", search: "status=paid" },
          { label: "Failed", search: "status=failed" },
          { label: "Refunded", search: "status=refunded" },
        ]}
        columns={[
          { label: "Account", opens: true, card: "first", cell: ({ userId }, account) => account(userId) },
          {
            label: "Description",
            card: "rest",
            cell: ({ id, description }) => (
              <div className="lg:min-w-36">
                <span title={visible(description)} className="line-clamp-1">
                  <Untrusted>{description}</Untrusted>
                </span>
                <span className="flex h-4 items-center max-lg:hidden">
                  <CopyText label={`Copy ID ${id}`} ending>
                    {id}
                  </CopyText>
                </span>
              </div>
            ),
          },
          { label: "Status", cell: ({ status }) => <Status value={status} /> },
          { label: "Amount", numeric: true, card: "end", cell: (order) => <Money {...order} /> },
          {
            label: "Refunded",
            numeric: true,
            cell: ({ refundedAmount, currency }) =>
              refundedAmount > 0 ? <Money amount={refundedAmount} currency={currency} /> : <None />,
          },
          { label: "Created", sort: "createdAt", cell: ({ createdAt }) => <Day at={createdAt} /> },
          {
            label: "Paid",
            card: "none",
            cell: ({ id, paidAt }, _, payments) => (
              <>
                <Day at={paidAt} />
                <ProviderLink of={payments.get(id)} />
              </>
            ),
          },
        ]}
      />
    </div>
  )
}

function paymentsOf(rows: readonly { id: string }[]) {
  return atProvider(
    "payment",
    rows.map(({ id }) => id),
  )
}
