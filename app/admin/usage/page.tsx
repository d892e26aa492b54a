import type { Metadata } from "next"
import { GET } from "@/app/api/v1/admin/usage/route"
import { KeyLink } from "@/components/admin/id-links"
import { ResourcePage } from "@/components/admin/resource-page"
import { periodNames } from "@/components/chart/periods"
import { Count } from "@/components/list/cells"
import { namedKeys } from "@/lib/keys/data"
import { entry } from "./navigation"

export const metadata: Metadata = { title: entry.label }

export default function UsagePage({ searchParams }: PageProps<"/admin/usage">) {
  return (
    <ResourcePage
      resource="usage"
      title={entry.label}
      emptyAction={{ text: "The first request with a key starts the count.", href: "/api-keys", label: "Create a key" }}
      endpoint={GET.endpoint}
      searchParams={searchParams}
      loadRelated={(rows, viewer) => namedKeys([...new Set(rows.map(({ keyId }) => keyId))], viewer)}
      columns={[
        {
          label: "Period (UTC)",
          card: "first",
          sort: "createdAt",
          cell: ({ createdAt, unit }) => <Period startsAt={createdAt} unit={unit} />,
        },
        { label: "Account", opens: true, card: "rest", cell: ({ userId }, account) => account(userId) },
        {
          label: "Key",
          card: "none",
          cell: ({ keyId }, _, keys) => <KeyLink id={keyId} name={keys.get(keyId)?.name} list="/admin/usage" />,
        },
        { label: "Requests", numeric: true, card: "end", cell: ({ requests }) => <Count value={requests} /> },
        { label: "Failed", numeric: true, cell: ({ errors }) => <Count value={errors} /> },
        { label: "Rows", numeric: true, card: "none", cell: ({ rows }) => <Count value={rows} /> },
        { label: "Credits", numeric: true, card: "none", cell: ({ credits }) => <Count value={credits} /> },
        { label: "Not logged", numeric: true, card: "none", cell: ({ unlogged }) => <Count value={unlogged} /> },
      ]}
    />
  )
}

function Period({ startsAt, unit }: { startsAt: string; unit: "hour" | "day" }) {
  return <span className="whitespace-nowrap">{periodNames(new Date(startsAt), unit).name}</span>
}
