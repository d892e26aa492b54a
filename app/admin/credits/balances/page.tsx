import type { Metadata } from "next"
import { GET } from "@/app/api/v1/admin/credits/balances/route"
import { planChoices } from "@/components/admin/plan-choices"
import { ResourcePage } from "@/components/admin/resource-page"
import { Count, Day, None } from "@/components/list/cells"
import { owedBy } from "@/lib/credits/balance"
import { entry } from "./navigation"

export const metadata: Metadata = { title: entry.label }

export default function CreditBalancesPage({ searchParams }: PageProps<"/admin/credits/balances">) {
  return (
    <ResourcePage
      resource="credits/balances"
      title={entry.label}
      endpoint={GET.endpoint}
      searchParams={searchParams}
      choices={planChoices}
      loadRelated={(rows): ReturnType<typeof owedBy> => owedBy(rows.map(({ id }) => id))}
      columns={[
        { label: "Account", opens: true, card: "first", cell: ({ userId }, account) => account(userId) },
        {
          label: "Balance",
          numeric: true,
          card: "end",
          sort: "balance",
          cell: ({ balance }) => <Count value={balance} />,
        },
        { label: "Held", numeric: true, cell: ({ held }) => <Count value={held} /> },
        { label: "Owed", numeric: true, cell: ({ id }, _, owed) => <Owed value={owed.get(id)} /> },
        { label: "Granted", numeric: true, cell: ({ granted }) => <Count value={granted} /> },
        { label: "Spent", numeric: true, sort: "spent", cell: ({ spent }) => <Count value={spent} /> },
        { label: "Created", card: "none", sort: "createdAt", cell: ({ createdAt }) => <Day at={createdAt} /> },
      ]}
    />
  )
}

function Owed({ value }: { value: number | undefined }) {
  return value === undefined ? <None /> : <Count value={value} />
}
