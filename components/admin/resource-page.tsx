import type { ReactNode } from "react"
import { accountFilters, type Known } from "@/components/list/filter"
import { type Column, ListView, type RowForm } from "@/components/list/list-view"
import { addressOf, readListing } from "@/components/list/query"
import { isChosen, type View, Views } from "@/components/list/views"
import { PageFrame } from "@/components/page/page-frame"
import { buttonStyle } from "@/components/ui/button"
import { type Command, EmptyState } from "@/components/ui/empty-state"
import { Link } from "@/components/ui/link"
import { emailsOf } from "@/lib/accounts/addresses"
import { refuse } from "@/lib/api/errors"
import type { AdminEndpoint } from "@/lib/api/lists"
import { permissionCheckOf } from "@/lib/api/streams/page-or-stream"
import { holds } from "@/lib/permissions"
import { isDevelopmentOpen } from "@/lib/platform/http/development"
import { fromStandby } from "@/lib/platform/postgres/standbys"
import { requirePermission, type Viewer } from "@/lib/sign-in/browser-session"
import { openWithIds } from "./account-choice"
import { AccountLink } from "./id-links"

type ResourceColumn<Row, Related> = Omit<Column<Row>, "cell"> & {
  cell: (row: Row, account: (id: string) => ReactNode, related: Related) => ReactNode
}

type ResourceForm<Row, Related> = {
  around: (table: ReactNode, rows: readonly Row[], related: Related) => ReactNode
  nameOf?: ((row: Row, related: Related) => string | undefined) | undefined
  actions: (row: Row, related: Related) => ReactNode
}

type Params = Record<string, string | string[] | undefined>

export async function ResourcePage<Row extends { id: string }, Related = undefined>({
  resource,
  title,
  endpoint,
  searchParams,
  columns,
  rowForm,
  choices = async () => ({}),
  searchPlaceholder = "Name, email, ID or key",
  views = [],
  loadRelated,
  emptyAction,
}: {
  resource: string
  title: string
  endpoint: AdminEndpoint<Row>
  searchParams: Promise<Params>
  columns: readonly ResourceColumn<Row, Related>[]
  rowForm?: ResourceForm<Row, Related> | undefined
  choices?: () => Promise<NonNullable<Known["choices"]>>
  searchPlaceholder?: string
  views?: readonly View[]
  loadRelated?: (rows: readonly Row[], viewer: Viewer) => Promise<Related>
  emptyAction?: { text: string; href: string; label: string }
}) {
  const page = `/admin/${resource}`
  const params = await searchParams
  const viewer = await requirePermission(addressOf(page, params), endpoint.permission)
  const readsAccounts = holds(viewer.role, "users.read")
  const needed = endpoint.filterPermissions
  const filters = Object.fromEntries(
    Object.entries(endpoint.filters).filter(([name]) => !needed[name] || holds(viewer.role, needed[name])),
  )
  const unclear = readsAccounts ? await openWithIds(page, endpoint.filters, params) : undefined
  const listing = await readListing(page, params, async (search) =>
    unclear
      ? refuse(400, "bad_request", unclear.refused)
      : fromStandby(() => endpoint.read(search, permissionCheckOf(viewer.role)), viewer.written),
  )
  const { query, found } = listing
  const rows = "data" in found ? found.data : []
  const accounts = readsAccounts ? await emailsOf([...accountsIn(rows), ...accountsAskedFor(query)]) : undefined
  const related = (await loadRelated?.(rows, viewer)) as Related
  const account = (id: string) => <AccountLink id={id} email={accounts?.get(id)} />
  return (
    <PageFrame title={title}>
      {views.length > 0 && <Views page={page} query={query} views={views} />}
      <ListView
        title={title}
        page={page}
        path={`/api/v1/admin/${resource}`}
        download={`/admin/csv/${resource}`}
        filters={filters}
        known={{ choices: await choices(), accounts, finds: readsAccounts ? searchPlaceholder : "ID" }}
        columns={columns.map((column) => ({ ...column, cell: (row: Row) => column.cell(row, account, related) }))}
        rowForm={rowForm && formWith(rowForm, related)}
        listing={listing}
        isNamed={views.some((view) => isChosen(view, query))}
        empty={<NothingYet action={emptyAction} />}
        choice={unclear?.choice}
      />
    </PageFrame>
  )
}

function formWith<Row, Related>(
  { around, nameOf, actions }: ResourceForm<Row, Related>,
  related: Related,
): RowForm<Row> {
  return {
    around: (table, rows) => around(table, rows, related),
    nameOf: nameOf && ((row) => nameOf(row, related)),
    actions: (row) => actions(row, related),
  }
}

async function NothingYet({ action }: { action: { text: string; href: string; label: string } | undefined }) {
  if (!action) return <EmptyState title="Nothing here yet" command={await exampleData()} />
  return (
    <EmptyState
      title="Nothing here yet"
      action={
        <Link href={action.href} className={buttonStyle()}>
          {action.label}
        </Link>
      }
    >
      {action.text}
    </EmptyState>
  )
}

async function exampleData(): Promise<Command | undefined> {
  return (await isDevelopmentOpen()) ? { label: "Example data", text: "npm run db:seed" } : undefined
}

function accountsIn(rows: readonly object[]): string[] {
  const ids = rows.flatMap((row) => accountFilters.map((field) => (row as Record<string, unknown>)[field]))
  return [...new Set(ids.filter((id) => typeof id === "string"))]
}

function accountsAskedFor(query: URLSearchParams): string[] {
  return accountFilters.flatMap((name) => query.get(name) ?? [])
}
