import type { Metadata } from "next"
import { GET } from "@/app/api/v1/me/credits/route"
import { Count, Moment, SignedCount } from "@/components/list/cells"
import { type Column, ListView } from "@/components/list/list-view"
import { readListing } from "@/components/list/query"
import { BackLink } from "@/components/page/back-link"
import { PageFrame } from "@/components/page/page-frame"
import { buttonStyle } from "@/components/ui/button"
import { EmptyState } from "@/components/ui/empty-state"
import { Link } from "@/components/ui/link"
import { findOwnRun } from "@/lib/credits/lines"
import { inWords } from "@/lib/platform/text/words"
import { requireViewer } from "@/lib/sign-in/browser-session"
import { addingCredits } from "@/lib/top-up"
import { EntryOrigin, entriesPage as page } from "../entry-origin"
import { RunFacts } from "../run-facts"

export const metadata: Metadata = { title: "Ledger entries" }

type Row = Awaited<ReturnType<typeof GET.endpoint.read>>["data"][number]

const columns: readonly Column<Row>[] = [
  { label: "No.", card: "none", cell: ({ seq }) => <Count value={seq} /> },
  { label: "Time (UTC)", sort: "createdAt", cell: ({ createdAt }) => <Moment at={createdAt} /> },
  { label: "Type", card: "first", cell: ({ kind }) => inWords(kind) },
  { label: "Description", opens: true, card: "rest", cell: (row) => <EntryOrigin {...row} /> },
  { label: "Amount", numeric: true, card: "end", cell: ({ amount }) => <SignedCount value={amount} /> },
  { label: "Balance after", numeric: true, card: "none", cell: ({ balanceAfter }) => <Count value={balanceAfter} /> },
]

export default async function EntriesPage({ searchParams }: PageProps<"/account/credits/entries">) {
  const viewer = await requireViewer(page)
  const listing = await readListing(page, await searchParams, (search) => GET.endpoint.read(viewer.id, search))
  const runId = listing.query.get("runId")
  const adding = addingCredits()
  const run = runId && "data" in listing.found ? await findOwnRun(viewer.id, runId) : null
  return (
    <PageFrame
      back={<BackLink href="/account/credits">Credits</BackLink>}
      title={run ? "Run" : "Ledger entries"}
      intro="A run first reserves its maximum cost. When it ends, a second entry returns the part that it did not use."
    >
      {run && <RunFacts run={run} />}
      <ListView
        title="Ledger entries"
        page={page}
        path="/api/v1/me/credits"
        download="/account/csv/credits"
        filters={GET.endpoint.filters}
        columns={run ? columns.filter(({ label }) => label !== "Description") : columns}
        listing={listing}
        empty={
          <EmptyState
            title="No entries yet"
            action={
              <Link href={adding.href} className={buttonStyle()}>
                {adding.label}
              </Link>
            }
          />
        }
      />
    </PageFrame>
  )
}
