import type { Metadata } from "next"
import { GET } from "@/app/api/v1/admin/requests/route"
import { KeyLink } from "@/components/console/cells"
import { ResourcePage } from "@/components/console/resource-page"
import { Count } from "@/components/list/cells"
import { Moment, Request, ResponseStatus, Sender } from "@/components/list/request-cells"
import { entry } from "./navigation"

export const metadata: Metadata = { title: entry.label }

export default function RequestsPage({ searchParams }: PageProps<"/admin/requests">) {
  return (
    <ResourcePage
      resource="requests"
      title={entry.label}
      endpoint={GET.endpoint}
      searchParams={searchParams}
      columns={[
        { label: "Time (UTC)", cell: ({ createdAt }) => <Moment at={createdAt} /> },
        { label: "Account", cell: ({ userId }, account) => account(userId) },
        { label: "Key", cell: ({ keyId }) => <KeyLink id={keyId} list="/admin/requests" /> },
        { label: "Request", cell: (row) => <Request {...row} /> },
        { label: "Status", cell: (row) => <ResponseStatus {...row} /> },
        { label: "Rows", numeric: true, cell: ({ rows }) => <Count of={rows} /> },
        { label: "ms", numeric: true, cell: ({ ms }) => <Count of={ms} /> },
        { label: "From", cell: (row) => <Sender {...row} /> },
      ]}
    />
  )
}
