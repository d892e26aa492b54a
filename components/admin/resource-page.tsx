import { redirect } from "next/navigation"
import type { ReactNode } from "react"
import { buttonStyle } from "@/components/button"
import { EmptyState } from "@/components/empty-state"
import { Link } from "@/components/link"
import { accountFilters, type Known } from "@/components/list/filter"
import { type Column, ListView } from "@/components/list/list-view"
import { addressOf, cleanQuery, pageWith, readListing } from "@/components/list/query"
import { isChosen, type View, Views } from "@/components/list/views"
import { PageFrame } from "@/components/page-frame"
import { emailsOf, findAccounts, findIdByEmail, isUuid, type Matches } from "@/lib/accounts/data"
import { refuseAs } from "@/lib/api/errors"
import type { AdminEndpoint } from "@/lib/api/lists"
import { type Parameters, searchParameter } from "@/lib/api/parameters"
import { permissionCheckOf } from "@/lib/api/streams/page-or-stream"
import { holds } from "@/lib/permissions"
import { requirePermission, type Viewer } from "@/lib/sign-in/session"
import { AccountChoice } from "./account-choice"
import { AccountLink } from "./cells"

type ResourceColumn<Row, Related> = Omit<Column<Row>, "cell"> & {
  /** @param account renders an account id, as a link with the email address if the viewer may read accounts */
  cell: (row: Row, account: (id: string) => ReactNode, related: Related) => ReactNode
}

type Params = Record<string, string | string[] | undefined>

/**
 * The console page of an admin list. Rows, filters, permission and error messages come from the endpoint.
 * @param resource the path of the page below /admin, and of the endpoint below /api/v1/admin
 */
export async function ResourcePage<Row extends { id: string }, Related = undefined>({
  resource,
  title,
  endpoint,
  searchParams,
  columns,
  choices = async () => ({}),
  finds = "Name, email, ID or key",
  views = [],
  relate,
  next,
}: {
  resource: string
  title: string
  endpoint: AdminEndpoint<Row>
  searchParams: Promise<Params>
  columns: readonly ResourceColumn<Row, Related>[]
  /** Reads the values of filters that are no closed set. */
  choices?: () => Promise<NonNullable<Known["choices"]>>
  /** What the search finds, if the viewer may read accounts. */
  finds?: string
  /** Queries that the page offers as links. */
  views?: readonly View[]
  /** Reads what cells show besides their row. */
  relate?: (rows: readonly Row[], viewer: Viewer) => Promise<Related>
  /** What makes the first row, offered while there is none. */
  next?: { text: string; href: string; label: string }
}) {
  const page = `/admin/${resource}`
  const params = await searchParams
  const viewer = await requirePermission(addressOf(page, params), endpoint.permission)
  const readsAccounts = holds(viewer.role, "users.read")
  const unclear = readsAccounts ? await openWithIds(page, endpoint.filters, params) : undefined
  const listing = await readListing(page, params, async (search) =>
    unclear
      ? refuseAs("bad_request", "refused" in unclear ? unclear.refused : "Choose an account.")
      : endpoint.read(search, permissionCheckOf(viewer.role)),
  )
  const { query, found } = listing
  const rows = "data" in found ? found.data : []
  const accounts = readsAccounts ? await emailsOf([...accountsIn(rows), ...accountsAskedFor(query)]) : undefined
  const related = (await relate?.(rows, viewer)) as Related
  const account = (id: string) => <AccountLink id={id} email={accounts?.get(id)} />
  return (
    <PageFrame title={title}>
      {views.length > 0 && <Views page={page} query={query} views={views} />}
      <ListView
        title={title}
        page={page}
        path={`/api/v1/admin/${resource}`}
        download={`/admin/csv/${resource}`}
        filters={endpoint.filters}
        known={{ choices: await choices(), accounts, finds: readsAccounts ? finds : "ID" }}
        columns={columns.map((column) => ({ ...column, cell: (row: Row) => column.cell(row, account, related) }))}
        listing={listing}
        isNamed={views.some((view) => isChosen(view, query))}
        empty={<NothingYet next={next} />}
        choice={unclear && "accounts" in unclear && <AccountChoice page={page} query={query} {...unclear} />}
      />
    </PageFrame>
  )
}

function NothingYet({ next }: { next: { text: string; href: string; label: string } | undefined }) {
  if (!next) return <EmptyState title="Nothing here yet" />
  return (
    <EmptyState
      title="Nothing here yet"
      action={
        <Link href={next.href} className={buttonStyle()}>
          {next.label}
        </Link>
      }
    >
      {next.text}
    </EmptyState>
  )
}

/** What was typed for an account, if it is not one account, with those that it may mean. */
type Unclear = { name: string; typed: string } & (Matches | { refused: string })

/** Opens the page with the ids of accounts in place of the names and addresses that a form sent. */
async function openWithIds(page: string, filters: Parameters, params: Params): Promise<Unclear | undefined> {
  const query = cleanQuery(page, params)
  const given = accountFilters.flatMap((name) => {
    const typed = query.get(name)?.trim()
    return typed && !isUuid(typed) && Object.hasOwn(filters, name) ? [{ name, typed }] : []
  })
  if (given.length === 0) return undefined
  const meant = await Promise.all(given.map(async (asked) => ({ ...asked, found: await accountsMeant(asked.typed) })))
  const ids: Record<string, string> = {}
  for (const { name, typed, found } of meant) {
    if (typeof found === "string") ids[name] = found
    else return { name, typed, ...found }
  }
  redirect(pageWith(page, query, ids))
}

/** The id of the account with this address, or of the only one that is found by it as a part of an address or a name. */
async function accountsMeant(typed: string): Promise<string | Matches | { refused: string }> {
  const id = await findIdByEmail(typed)
  if (id) return id
  const term = searchTerm.safeParse(typed)
  if (!term.success) return { refused: `A name or a part of an address ${term.error.issues[0]?.message}.` }
  const found = await findAccounts(term.data)
  if (!found) return { refused: `Too many accounts match “${typed}”.` }
  const [account] = found.accounts
  if (!account) return { refused: `No account matches “${typed}”.` }
  return found.accounts.length + found.others === 1 ? account.id : found
}

const searchTerm = searchParameter({ table: "users", account: "id" })

function accountsIn(rows: readonly object[]): string[] {
  const ids = rows.flatMap((row) => accountFilters.map((field) => (row as Record<string, unknown>)[field]))
  return [...new Set(ids.filter((id) => typeof id === "string"))]
}

function accountsAskedFor(query: URLSearchParams): string[] {
  return accountFilters.flatMap((name) => query.get(name) ?? [])
}
