import type { Metadata } from "next"
import { GET } from "@/app/api/v1/admin/credits/route"
import { ResourcePage } from "@/components/admin/resource-page"
import { Count, Day, Text } from "@/components/list/cells"
import { entry } from "./navigation"

export const metadata: Metadata = { title: entry.label }

export default function CreditsPage({ searchParams }: PageProps<"/admin/credits">) {
  return (
    <ResourcePage
      resource="credits"
      title={entry.label}
      endpoint={GET.endpoint}
      searchParams={searchParams}
      columns={[
        { label: "Account", opens: true, cell: ({ userId }, account) => account(userId) },
        { label: "No.", numeric: true, cell: ({ seq }) => <Count value={seq} /> },
        { label: "Type", cell: ({ kind }) => kind },
        { label: "Amount", numeric: true, cell: ({ amount }) => <Count value={amount} /> },
        { label: "Balance after", numeric: true, cell: ({ balanceAfter }) => <Count value={balanceAfter} /> },
        { label: "Reason", cell: ({ reason }) => <Text>{reason}</Text> },
        { label: "Created", sort: "createdAt", cell: ({ createdAt }) => <Day at={createdAt} /> },
      ]}
    />
  )
}
