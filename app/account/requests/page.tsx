import type { Metadata } from "next"
import { GET } from "@/app/api/v1/me/requests/route"
import { firstRequest } from "@/components/code/first-request"
import { Count, Moment } from "@/components/list/cells"
import { ListView } from "@/components/list/list-view"
import { readListing } from "@/components/list/query"
import { failureViews, Outcome, RequestLink, Sender, statusChoices } from "@/components/list/request-cells"
import { Views } from "@/components/list/views"
import { PageFrame } from "@/components/page/page-frame"
import { openSought } from "@/components/requests/open-sought"
import { buttonStyle } from "@/components/ui/button"
import { EmptyState } from "@/components/ui/empty-state"
import { Link } from "@/components/ui/link"
import { type NamedKey, ownKeys } from "@/lib/keys/data"
import { visible } from "@/lib/platform/text/visible-text"
import { keyVariable } from "@/lib/product"
import { noRoute } from "@/lib/request-log/lists"
import { seenOf } from "@/lib/request-log/of-key"
import { requireViewer } from "@/lib/sign-in/browser-session"
import { KeyName } from "../key-name"
import { entry } from "./navigation"
import { requestsPage as page } from "./request"

export const metadata: Metadata = { title: entry.label }

export default async function RequestsPage({ searchParams }: PageProps<"/account/requests">) {
  const viewer = await requireViewer(page)
  const params = await searchParams
  await openSought(page, params, { userId: viewer.id })
  const [listing, keys, seen] = await Promise.all([
    readListing(page, params, (search) => GET.endpoint.read(viewer.id, search)),
    ownKeys(viewer),
    seenOf("owner", viewer.id),
  ])
  return (
    <PageFrame title={entry.label}>
      <Views page={page} query={listing.query} views={failureViews} />
      <ListView
        title={entry.label}
        page={page}
        path="/api/v1/me/requests"
        download="/account/csv/requests"
        filters={GET.endpoint.filters}
        known={{ choices: choicesOf(keys, seen), finds: "Request ID" }}
        columns={[
          { label: "Time (UTC)", sort: "createdAt", cell: ({ createdAt }) => <Moment at={createdAt} /> },
          { label: "Request", opens: true, card: "first", cell: (row) => <RequestLink list={page} row={row} beside /> },
          { label: "Key", card: "rest", cell: ({ keyId }) => <KeyName id={keyId} keys={keys} hasStart /> },
          { label: "Status", card: "end", cell: (row) => <Outcome {...row} /> },
          { label: "Rows", numeric: true, card: "none", cell: ({ rows }) => <Count value={rows} /> },
          { label: "Credits", numeric: true, cell: ({ credits }) => <Count value={credits} /> },
          { label: "ms", numeric: true, card: "none", cell: ({ ms }) => <Count value={ms} /> },
          { label: "From", card: "none", cell: (row) => <Sender {...row} /> },
        ]}
        listing={listing}
        empty={<NoRequests />}
      />
    </PageFrame>
  )
}

/** Keys can share a name, for example after a rotation. The name is last, so that it cannot reorder the start. */
function choicesOf(keys: readonly NamedKey[], { routes, statuses }: Awaited<ReturnType<typeof seenOf>>) {
  return {
    keyId: Object.fromEntries(keys.map(({ id, name, start }) => [id, `${start}… ${visible(name)}`])),
    route: Object.fromEntries(routes.map((route) => [route, route === noRoute ? "No endpoint" : route])),
    status: statusChoices(statuses),
  }
}

function NoRequests() {
  return (
    <EmptyState
      title="No requests yet"
      command={firstRequest("user")}
      action={
        <Link href="/api-keys" className={buttonStyle()}>
          View your keys
        </Link>
      }
    >
      Put a key into <code className="font-mono text-ink">{keyVariable}</code>, and send this: it appears here within
      seconds.
    </EmptyState>
  )
}
