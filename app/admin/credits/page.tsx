import type { Metadata } from "next"
import { GET } from "@/app/api/v1/admin/credits/route"
import { ResourcePage } from "@/components/admin/resource-page"
import { Count, Moment, SignedCount, Text } from "@/components/list/cells"
import { inWords } from "@/lib/platform/text/words"
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
        { label: "Account", opens: true, card: "first", cell: ({ userId }, account) => account(userId) },
        { label: "No.", numeric: true, card: "none", cell: ({ seq }) => <Count value={seq} /> },
        { label: "Type", cell: ({ kind }) => inWords(kind) },
        { label: "Amount", numeric: true, card: "end", cell: ({ amount }) => <SignedCount value={amount} /> },
        {
          label: "Balance after",
          numeric: true,
          card: "none",
          cell: ({ balanceAfter }) => <Count value={balanceAfter} />,
        },
        { label: "Reason", card: "rest", cell: ({ reason }) => <Text>{reason}</Text> },
        { label: "Time (UTC)", sort: "createdAt", cell: ({ createdAt }) => <Moment at={createdAt} /> },
      ]}
    />
  )
}
