import type { Metadata } from "next"
import { GET } from "@/app/api/v1/admin/orders/route"
import { planChoices } from "@/components/admin/plan-choices"
import { ResourcePage } from "@/components/admin/resource-page"
import { Day, Money, None, Status, Text } from "@/components/list/cells"
import { CopyText } from "@/components/ui/copy-text"
import { entry } from "./navigation"

export const metadata: Metadata = { title: entry.label }

export default function OrdersPage({ searchParams }: PageProps<"/admin/orders">) {
  return (
    <ResourcePage
      resource="orders"
      title={entry.label}
      endpoint={GET.endpoint}
      searchParams={searchParams}
      choices={planChoices}
      views={[
        { label: "Paid", search: "status=paid" },
        { label: "Failed", search: "status=failed" },
        { label: "Refunded", search: "status=refunded" },
      ]}
      columns={[
        { label: "Account", opens: true, cell: ({ userId }, account) => account(userId) },
        { label: "Description", cell: ({ description }) => <Text>{description}</Text> },
        {
          label: "ID",
          cell: ({ id }) => (
            <CopyText label={`Copy ID ${id}`} ending>
              {id}
            </CopyText>
          ),
        },
        { label: "Status", cell: ({ status }) => <Status value={status} /> },
        { label: "Amount", numeric: true, cell: (order) => <Money {...order} /> },
        {
          label: "Refunded",
          numeric: true,
          cell: ({ refundedAmount, currency }) =>
            refundedAmount > 0 ? <Money amount={refundedAmount} currency={currency} /> : <None />,
        },
        { label: "Created", sort: "createdAt", cell: ({ createdAt }) => <Day at={createdAt} /> },
        { label: "Paid", cell: ({ paidAt }) => <Day at={paidAt} /> },
      ]}
    />
  )
}
