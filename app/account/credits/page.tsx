import type { Metadata } from "next"
import { GET } from "@/app/api/v1/me/credits/route"
import { EmptyState } from "@/components/empty-state"
import { Link } from "@/components/link"
import { Change, Count, Time } from "@/components/list/cells"
import { ListView } from "@/components/list/list-view"
import { readListing } from "@/components/list/query"
import { PageFrame } from "@/components/page-frame"
import { SupportLink } from "@/components/support-link"
import { Tile } from "@/components/tile"
import { formatters } from "@/components/units"
import { requireViewer } from "@/lib/sign-in/session"
import { EntryOrigin } from "./entry-origin"
import { entry } from "./navigation"
import { Usage } from "./usage"

export const metadata: Metadata = { title: entry.label }

const page = "/account/credits"

export default async function CreditsPage({ searchParams }: PageProps<"/account/credits">) {
  const viewer = await requireViewer(page)
  const listing = await readListing(page, await searchParams, (search) => GET.endpoint.read(viewer.id, search))
  const { query, found } = listing
  return (
    <PageFrame
      title={entry.label}
      intro="Each run reserves the most it can cost. When it finishes, the unused credits return to your balance."
    >
      {"data" in found && (
        <dl className="grid grid-cols-2 gap-3">
          <Tile label="Balance" note="available to spend">
            {formatters.count.full(found.meta.balance)}
          </Tile>
          <Tile label="Held" note="by runs in progress">
            {formatters.count.full(found.meta.held)}
          </Tile>
        </dl>
      )}
      {/* A filter or page number in the URL means that the viewer reads the ledger, so the charts are left out. */}
      {query.size === 0 && <Usage owner={viewer.id} />}
      <h2 className="text-base font-semibold">Ledger</h2>
      <ListView
        title="Ledger"
        page={page}
        path="/api/v1/me/credits"
        filters={GET.endpoint.filters}
        columns={[
          { label: "No.", cell: ({ seq }) => <Count of={seq} /> },
          { label: "Created", cell: ({ createdAt }) => <Time at={createdAt} /> },
          { label: "Kind", cell: ({ kind }) => kind },
          { label: "Description", cell: (row) => <EntryOrigin {...row} page={page} /> },
          { label: "Amount", numeric: true, cell: ({ amount }) => <Change of={amount} /> },
          { label: "Balance after", numeric: true, cell: ({ balanceAfter }) => <Count of={balanceAfter} /> },
        ]}
        listing={listing}
        empty={<NoEntries />}
      />
    </PageFrame>
  )
}

function NoEntries() {
  return (
    <EmptyState title="No entries yet">
      Contact <SupportLink /> to add credits. Your code spends them on{" "}
      <Link href="/docs/user" className="text-accent underline">
        runs
      </Link>
      , which it starts with{" "}
      <Link href="/api-keys" className="text-accent underline">
        an API key
      </Link>
      .
    </EmptyState>
  )
}
