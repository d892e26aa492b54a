import type { ReactNode } from "react"
import { EmptyState } from "@/components/empty-state"
import { ListView } from "@/components/list/list-view"
import { addressOf, readListing } from "@/components/list/query"
import { PageFrame } from "@/components/page-frame"
import { emailsOf } from "@/lib/accounts/data"
import type { AdminEndpoint } from "@/lib/api/lists"
import { demandOf } from "@/lib/api/page-or-stream"
import { holds } from "@/lib/permissions"
import { requirePermission } from "@/lib/sign-in/session"
import { AccountLink } from "./cells"

export type ResourceColumn<Row> = {
  label: string
  /** @param account renders an account id, as a link with the email address if the viewer may read accounts */
  cell: (row: Row, account: (id: string) => ReactNode) => ReactNode
  numeric?: boolean
}

/**
 * The console page of an admin list. Rows, filters, permission and error messages come from the endpoint.
 * @param resource the path of the page below /admin, and of the endpoint below /api/v1/admin
 */
export async function ResourcePage<Row extends { id: string }>({
  resource,
  title,
  endpoint,
  searchParams,
  columns,
}: {
  resource: string
  title: string
  endpoint: AdminEndpoint<Row>
  searchParams: Promise<Record<string, string | string[] | undefined>>
  columns: readonly ResourceColumn<Row>[]
}) {
  const page = `/admin/${resource}`
  const params = await searchParams
  const viewer = await requirePermission(addressOf(page, params), endpoint.permission)
  const listing = await readListing(page, params, (search) => endpoint.read(search, demandOf(viewer.role)))
  const rows = "data" in listing.found ? listing.found.data : []
  const accounts = holds(viewer.role, "users.read") ? await emailsOf(accountsIn(rows)) : undefined
  const account = (id: string) => <AccountLink id={id} email={accounts?.get(id)} />
  return (
    <PageFrame title={title} intro={`${endpoint.summary}.`}>
      <ListView
        title={title}
        page={page}
        path={`/api/v1/admin/${resource}`}
        download={`/admin/csv/${resource}`}
        filters={endpoint.filters}
        columns={columns.map((column) => ({ ...column, cell: (row: Row) => column.cell(row, account) }))}
        listing={listing}
        empty={<EmptyState title="Nothing here yet" />}
      />
    </PageFrame>
  )
}

const accountFields = ["userId", "actorId", "targetId"]

function accountsIn(rows: readonly object[]): string[] {
  const ids = rows.flatMap((row) => accountFields.map((field) => (row as Record<string, unknown>)[field]))
  return [...new Set(ids.filter((id) => typeof id === "string"))]
}
