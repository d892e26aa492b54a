import type { Metadata } from "next"
import { GET } from "@/app/api/v1/admin/requests/route"
import { endpoints } from "@/app/api/v1/endpoints"
import { KeyLink } from "@/components/admin/id-links"
import { ResourcePage } from "@/components/admin/resource-page"
import { Count, Moment } from "@/components/list/cells"
import { addressOf } from "@/components/list/query"
import { failureViews, RequestLink, ResponseStatus, Sender, statusChoices } from "@/components/list/request-cells"
import { openSought } from "@/components/requests/open-sought"
import { errors } from "@/lib/api/errors"
import { namedKeys } from "@/lib/keys/data"
import { noRoute } from "@/lib/request-log/lists"
import { requirePermission } from "@/lib/sign-in/browser-session"
import { entry } from "./navigation"
import { requestsPage as page } from "./request"

const statuses = [...new Set([200, ...Object.values(errors).map(({ status }) => status)])]

async function routeChoices() {
  const paths = (await endpoints()).map(({ path }) => [path, path])
  return Object.fromEntries([...paths, [noRoute, "No endpoint"]])
}

export const metadata: Metadata = { title: entry.label }

export default async function RequestsPage({ searchParams }: PageProps<"/admin/requests">) {
  const params = await searchParams
  await requirePermission(addressOf(page, params), GET.endpoint.permission)
  await openSought(page, params)
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
      choices={async () => ({ route: await routeChoices(), status: statusChoices(statuses) })}
      loadRelated={(rows, viewer) => namedKeys([...new Set(rows.map(({ keyId }) => keyId))], viewer)}
      views={failureViews}
      columns={[
        { label: "Time (UTC)", sort: "createdAt", cell: ({ createdAt }) => <Moment at={createdAt} /> },
        { label: "Account", card: "rest", cell: ({ userId }, account) => account(userId) },
        {
          label: "Key",
          card: "none",
          cell: ({ keyId }, _, keys) => <KeyLink id={keyId} name={keys.get(keyId)?.name} list="/admin/requests" />,
        },
        { label: "Request", opens: true, card: "first", cell: (row) => <RequestLink list={page} row={row} beside /> },
        { label: "Status", card: "end", cell: (row) => <ResponseStatus {...row} /> },
        { label: "Rows", numeric: true, card: "none", cell: ({ rows }) => <Count value={rows} /> },
        { label: "ms", numeric: true, cell: ({ ms }) => <Count value={ms} /> },
        { label: "From", card: "none", cell: (row) => <Sender {...row} /> },
      ]}
    />
  )
}
