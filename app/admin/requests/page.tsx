import type { Metadata } from "next"
import { GET } from "@/app/api/v1/admin/requests/route"
import { endpoints } from "@/app/api/v1/endpoints"
import { KeyLink } from "@/components/admin/id-links"
import { ResourcePage } from "@/components/admin/resource-page"
import { Count, Moment } from "@/components/list/cells"
import { Request, ResponseStatus, Sender } from "@/components/list/request-cells"
import { errors } from "@/lib/api/errors"
import { namedKeys } from "@/lib/keys/data"
import { entry } from "./navigation"

const statuses = [200, ...Object.values(errors).map(({ status }) => status)]
const statusChoices = Object.fromEntries(statuses.map((status) => [status, String(status)]))

async function routeChoices() {
  return Object.fromEntries((await endpoints()).map(({ path }) => [path, path]))
}

export const metadata: Metadata = { title: entry.label }

export default function RequestsPage({ searchParams }: PageProps<"/admin/requests">) {
  return (
    <ResourcePage
      resource="requests"
      title={entry.label}
      emptyAction={{
        text: "Requests with keys appear here within a second.",
        href: "/api-keys",
        label: "Create a key",
      }}
      endpoint={GET.endpoint}
      searchParams={searchParams}
      choices={async () => ({ route: await routeChoices(), status: statusChoices })}
      loadRelated={(rows, viewer) => namedKeys([...new Set(rows.map(({ keyId }) => keyId))], viewer)}
      columns={[
        { label: "Time (UTC)", sort: "createdAt", cell: ({ createdAt }) => <Moment at={createdAt} /> },
        { label: "Account", opens: true, card: "rest", cell: ({ userId }, account) => account(userId) },
        {
          label: "Key",
          card: "none",
          cell: ({ keyId }, _, keys) => <KeyLink id={keyId} name={keys.get(keyId)?.name} list="/admin/requests" />,
        },
        { label: "Request", card: "first", cell: (row) => <Request {...row} /> },
        { label: "Status", card: "end", cell: (row) => <ResponseStatus {...row} /> },
        { label: "Rows", numeric: true, card: "none", cell: ({ rows }) => <Count value={rows} /> },
        { label: "ms", numeric: true, cell: ({ ms }) => <Count value={ms} /> },
        { label: "From", card: "none", cell: (row) => <Sender {...row} /> },
      ]}
    />
  )
}
