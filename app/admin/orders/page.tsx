import type { Metadata } from "next"
import { GET } from "@/app/api/v1/admin/orders/route"
import { ResourcePage } from "@/components/console/resource-page"
import { Money, None, Status, Text, Time } from "@/components/list/cells"
import { entry } from "./navigation"

export const metadata: Metadata = { title: entry.label }

export default function OrdersPage({ searchParams }: PageProps<"/admin/orders">) {
  return (
    <ResourcePage
      resource="orders"
      title={entry.label}
      endpoint={GET.endpoint}
      searchParams={searchParams}
      columns={[
        { label: "Account", cell: ({ userId }, account) => account(userId) },
        { label: "Description", cell: ({ description }) => <Text>{description}</Text> },
        { label: "Status", cell: ({ status }) => <Status of={status} /> },
        { label: "Amount", numeric: true, cell: (order) => <Money {...order} /> },
        {
          label: "Refunded",
          numeric: true,
          cell: ({ refundedAmount, currency }) =>
            refundedAmount > 0 ? <Money amount={refundedAmount} currency={currency} /> : <None />,
        },
        { label: "Created", cell: ({ createdAt }) => <Time at={createdAt} /> },
        { label: "Paid", cell: ({ paidAt }) => <Time at={paidAt} /> },
      ]}
    />
  )
}
