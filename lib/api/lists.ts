import { z } from "zod"
import { emailsOf } from "@/lib/accounts/addresses"
import type { OwnerId } from "@/lib/authority/owner"
import { emailOf, type Family } from "@/lib/metrics/family"
import type { Permission } from "@/lib/permissions"
import type { All, Found, Page, Selection } from "@/lib/platform/postgres/page"
import { maxMatches, type Searched, search as searchFor, type Term } from "@/lib/platform/postgres/search"
import { inTurn } from "@/lib/platform/queues/turns"
import { accountEmail } from "@/lib/platform/schemas/fields"
import { type Call, type Endpoint, type Routes, routes } from "./endpoint"
import { type List, listEnvelope, pageOf, selected, shortened } from "./envelope"
import { refuseAs } from "./errors"
import {
  listParameters,
  metaParameter,
  type Parameters,
  searchParameter,
  sortParameter,
  userOffset,
} from "./parameters"
import { parseListQuery } from "./query"
import type { Body, StreamedBody } from "./respond"
import { ours, said } from "./said"
import type { StreamFormat } from "./streams/formats"
import { type PermissionCheck, readingOf, refusePaging } from "./streams/page-or-stream"
import { openStream, type Reader } from "./streams/stream"

export type AdminEndpoint<Row, Meta = unknown> = Endpoint & {
  readonly permission: Permission
  readonly filterPermissions: FilterPermissions
  /** Without `checkPermission`, a query that needs a further permission is refused. */
  readonly read: (search: string, checkPermission?: PermissionCheck) => Promise<List<Row, Meta>>
  readonly stream: (search: string, streaming: Streaming) => Promise<StreamedBody>
}

type UserEndpoint<Row, Meta = unknown> = Endpoint & {
  readonly read: (owner: OwnerId, search: string) => Promise<List<Row, Meta>>
  readonly stream: (owner: OwnerId, search: string, streaming: Streaming) => Promise<StreamedBody>
}

type Streaming = { format: StreamFormat; reader: Reader; checkPermission?: PermissionCheck }

/** Required in addition to the endpoint's permission. */
type FilterPermissions = Readonly<Record<string, Permission>>

type Find<Where, Row extends z.ZodObject> = {
  page: (where: Where, page: Page, checkPermission: PermissionCheck) => Promise<Found<z.input<Row>>>
  all: (where: Where, selection: Selection, checkPermission: PermissionCheck) => Promise<All<z.input<Row>>>
}

/** Keyed by the fields of `where`, so that a misspelled filter does not compile. */
export type Filters<Where> = { readonly [Column in keyof Where]?: z.ZodType<Where[Column], string> }

const noMeta = z.object({})

type ListRow<Where, AllowedFilters, Row extends z.ZodObject, Meta extends z.ZodObject> = {
  summary: string
  filters?: AllowedFilters
  /** In addition to `createdAt`. Each field is never null and has an index together with the id. */
  sorts?: readonly (keyof Row["shape"] & string)[]
  row: Row
  meta?: Meta
  find: Find<Where, Row>
}

export function adminList<Where extends object, Row extends z.ZodObject, Meta extends z.ZodObject = typeof noMeta>({
  permission,
  filterPermissions = {},
  search,
  recipes = {},
  metrics,
  ...row
}: ListRow<Where, Filters<Where>, Row, Meta> & {
  permission: Permission
  filterPermissions?: { readonly [Column in keyof Where & string]?: Permission }
  search?: Searched
  /** Queries of the metrics until today; `{year}` is the current year. */
  recipes?: Record<string, string>
  metrics?: Family
}): Routes<AdminEndpoint<z.output<Row>, z.output<Meta>>> {
  const { common, read, stream, respondTo } = list(withEmails(row), {}, search, filterPermissions as FilterPermissions)
  return routes(
    {
      ...common,
      surface: "admin",
      permission,
      filterPermissions: filterPermissions as FilterPermissions,
      scope: permission,
      recipes,
      ...(metrics && { metrics }),
      read: (search: string, checkPermission?: PermissionCheck) => read(search, {}, checkPermission),
      stream: (search: string, streaming: Streaming) => stream(search, {}, streaming),
    },
    (call) => respondTo(call, {}),
  )
}

/** Adds the owner's id to `where` of each call of `find`. */
export function userList<
  Where extends { userId?: unknown },
  Row extends z.ZodObject,
  Meta extends z.ZodObject = typeof noMeta,
>(
  row: ListRow<Where & { userId: OwnerId }, Filters<Omit<Where, "userId">>, Row, Meta>,
): Routes<UserEndpoint<z.output<Row>, z.output<Meta>>> {
  const { common, read, stream, respondTo } = list(row, { offset: userOffset })
  return routes(
    {
      ...common,
      surface: "user",
      permission: undefined,
      scope: "read",
      recipes: {},
      read: (userId: OwnerId, search: string) => inTurn(userId, "request", () => read(search, { userId })),
      stream: (userId: OwnerId, search: string, streaming: Streaming) => stream(search, { userId }, streaming),
    },
    (call) => respondTo(call, { userId: call.caller.owner.id }),
  )
}

export function isAdminList(endpoint: Endpoint): endpoint is AdminEndpoint<unknown> {
  return endpoint.surface === "admin" && endpoint.shape === "list"
}

export function isUserList(endpoint: Endpoint): endpoint is UserEndpoint<unknown> {
  return endpoint.surface === "user" && endpoint.shape === "list"
}

function list<Where, Row extends z.ZodObject, Meta extends z.ZodObject>(
  row: ListRow<Where, object, Row, Meta>,
  differing: Parameters,
  searched?: Searched,
  filterPermissions: FilterPermissions = {},
) {
  const filters: Parameters = {
    ...(searched && { q: searchParameter(searched) }),
    ...row.filters,
    ...(row.sorts && { sort: sortParameter(row.sorts) }),
  }
  // A row without one leaves Meta at its default, the type of noMeta.
  const meta = row.meta ?? (noMeta as unknown as Meta)
  const long = Object.keys(meta.shape).filter((name) => meta.shape[name] instanceof z.ZodObject)
  const parameters: Parameters = {
    ...listParameters(row.row),
    ...differing,
    ...(long.length > 0 && { meta: metaParameter(long) }),
    ...filters,
  }
  const common = {
    method: "GET",
    summary: row.summary,
    shape: "list",
    filters,
    parameters,
    data: row.row,
    meta,
  } as const

  async function parse(
    search: string,
    own: object,
    checkPermission: PermissionCheck,
  ): Promise<{ page: Page; where: Where }> {
    const { page, where } = parseListQuery(search, parameters, row.row)
    delete where.meta
    for (const [name, permission] of Object.entries(filterPermissions)) {
      if (Object.hasOwn(where, name)) checkPermission(permission)
    }
    const found = searched ? await withMatches(searched, where, checkPermission) : where
    return { page, where: { ...found, ...own } as Where }
  }

  async function read(
    search: string,
    own: object,
    checkPermission: PermissionCheck = checkNothingMore,
  ): Promise<List<z.output<Row>, z.output<Meta>>> {
    const { page, where } = await parse(search, own, checkPermission)
    return pageOf(row.row, meta, page, await row.find.page(where, page, checkPermission))
  }

  async function stream(
    search: string,
    own: object,
    { format, reader, checkPermission = checkNothingMore }: Streaming,
  ): Promise<StreamedBody> {
    refusePaging(search, format)
    const { page, where } = await reader.withinDeadline(() => parse(search, own, checkPermission))
    return openStream(reader, format, {
      columns: page.fields ?? fieldsOf(row.row),
      all: () => row.find.all(where, page, checkPermission),
      rowOf: (found) => selected(row.row, page.fields, found),
    })
  }

  async function respondTo(call: Call, own: object): Promise<Body> {
    const { search } = call.url
    const { format, ...reading } = readingOf(call)
    if (format) return stream(search, own, { format, ...reading })
    const page = await call.withinDeadline(() => read(search, own, reading.checkPermission))
    call.draft.rows = page.data.length
    return listEnvelope(shortened(page, call.url, long))
  }
  return { common, read, stream, respondTo }
}

/** Without the optional fields, which only `fields` selects. */
function fieldsOf({ shape }: z.ZodObject): string[] {
  return Object.keys(shape).filter((name) => !(shape[name] instanceof z.ZodOptional))
}

/** Adds the address of the account that a row names, as a field that only `fields` selects. */
function withEmails<Where, AllowedFilters, Row extends z.ZodObject, Meta extends z.ZodObject>(
  list: ListRow<Where, AllowedFilters, Row, Meta>,
): ListRow<Where, AllowedFilters, Row, Meta> {
  const account = ["userId", "actorId"].find((name) => Object.hasOwn(list.row.shape, name))
  if (!account || Object.hasOwn(list.row.shape, "email")) return list
  type Read = z.input<Row> & Record<string, string>
  function namesEmail({ fields }: Selection, checkPermission: PermissionCheck): boolean {
    const isNamed = fields?.includes("email") ?? false
    if (isNamed) checkPermission("users.read")
    return isNamed
  }
  const withAccount = <Selected extends Selection>(selected: Selected): Selected => ({
    ...selected,
    fields: [...(selected.fields ?? []).filter((name) => name !== "email"), account],
  })
  const { page, all } = list.find
  return {
    ...list,
    row: list.row.extend({ email: accountEmail }) as unknown as Row,
    find: {
      async page(where, selected, checkPermission) {
        if (!namesEmail(selected, checkPermission)) return page(where, selected, checkPermission)
        const found = await page(where, withAccount(selected), checkPermission)
        const rows = found.rows as readonly Read[]
        const emails = await emailsOf(rows.flatMap((row) => row[account] ?? []))
        return { ...found, rows: rows.map((row) => ({ ...row, email: emails.get(row[account] ?? "") ?? null })) }
      },
      async all(where, selected, checkPermission) {
        if (!namesEmail(selected, checkPermission)) return all(where, selected, checkPermission)
        const found = await all(where, withAccount(selected), checkPermission)
        if (!("text" in found)) return found
        return {
          ...found,
          text: `SELECT named.*, ${emailOf(`named."${account}"`)} AS email FROM (${found.text}) named`,
        }
      },
    },
  }
}

const checkNothingMore: PermissionCheck = (permission) =>
  refuseAs("forbidden", said`This query needs the permission ${permission}.`)

/** A search of names and keys requires the permission to read them. */
async function withMatches(
  searched: Searched,
  { q, ...where }: Record<string, unknown>,
  checkPermission: PermissionCheck,
) {
  if (q === undefined) return where
  const term = q as Term
  if (searched.account && term.kind !== "id") checkPermission("users.read")
  const tooMany = said`q has more than ${ours(maxMatches.toLocaleString("en"))} matches: narrow the search.`
  const found = (await searchFor(searched, term)) ?? refuseAs("bad_request", tooMany)
  const { id: given } = where as { id?: readonly string[] }
  return { ...where, id: given ? found.filter((id) => given.includes(id)) : found }
}
