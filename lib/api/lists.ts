import { z } from "zod"
import type { OwnerId } from "@/lib/authority/owner"
import type { Family } from "@/lib/metrics/family"
import type { Permission } from "@/lib/permissions"
import type { All, Found, Page, Selection } from "@/lib/platform/postgres/page"
import { maxMatches, type Searched, search as searchFor, type Term } from "@/lib/platform/postgres/search"
import { inTurn } from "@/lib/platform/queues/turns"
import { type Call, type Endpoint, type Routes, routes } from "./endpoint"
import { type List, listEnvelope, pageOf, selected } from "./envelope"
import { refuseAs } from "./errors"
import { listParameters, type Parameters, searchParameter, sortParameter, userOffset } from "./parameters"
import { parseListQuery } from "./query"
import type { Body, StreamedBody } from "./respond"
import type { StreamFormat } from "./streams/formats"
import { type PermissionCheck, readingOf, refusePaging } from "./streams/page-or-stream"
import { openStream, type Reader } from "./streams/stream"

/** An admin list that pages can read too, with the same rows, parameters and errors as over HTTP. */
export type AdminEndpoint<Row, Meta = unknown> = Endpoint & {
  readonly permission: Permission
  /**
   * @param search the query, with or without its `?`
   * @param checkPermission without it, every query that needs another permission than the endpoint's own is refused
   */
  readonly read: (search: string, checkPermission?: PermissionCheck) => Promise<List<Row, Meta>>
  /** All rows that match a query without limit, offset and cursor. */
  readonly stream: (search: string, streaming: Streaming) => Promise<StreamedBody>
}

/** A user list that pages can read too, for the signed-in account instead of a key's owner. */
type UserEndpoint<Row, Meta = unknown> = Endpoint & {
  /** @param search the query, with or without its `?` */
  readonly read: (owner: OwnerId, search: string) => Promise<List<Row, Meta>>
  readonly stream: (owner: OwnerId, search: string, streaming: Streaming) => Promise<StreamedBody>
}

type Streaming = { format: StreamFormat; reader: Reader; checkPermission?: PermissionCheck }

type Find<Where, Row extends z.ZodObject> = {
  page: (where: Where, page: Page, checkPermission: PermissionCheck) => Promise<Found<z.input<Row>>>
  all: (where: Where, selection: Selection, checkPermission: PermissionCheck) => Promise<All<z.input<Row>>>
}

/** A filter has the name and type of the `where` field that it sets, so a misspelled filter does not compile. */
export type Filters<Where> = { readonly [Column in keyof Where]?: z.ZodType<Where[Column], string> }

const noMeta = z.object({})

type ListRow<Where, AllowedFilters, Row extends z.ZodObject, Meta extends z.ZodObject> = {
  summary: string
  filters?: AllowedFilters
  /** Other fields than `createdAt` by which the list can be sorted: each has an index over it and the id, and no null. */
  sorts?: readonly (keyof Row["shape"] & string)[]
  row: Row
  meta?: Meta
  find: Find<Where, Row>
}

/** A list of the admin surface: the rows of all accounts, for keys whose owner holds `permission`. */
export function adminList<Where extends object, Row extends z.ZodObject, Meta extends z.ZodObject = typeof noMeta>({
  permission,
  search,
  recipes = {},
  metrics,
  ...row
}: ListRow<Where, Filters<Where>, Row, Meta> & {
  permission: Permission
  search?: Searched
  recipes?: Record<string, string>
  metrics?: Family
}): Routes<AdminEndpoint<z.output<Row>, z.output<Meta>>> {
  const { common, read, stream, respondTo } = list(row, {}, search)
  return routes(
    {
      ...common,
      surface: "admin",
      permission,
      scope: permission,
      recipes,
      ...(metrics && { metrics }),
      read: (search: string, checkPermission?: PermissionCheck) => read(search, {}, checkPermission),
      stream: (search: string, streaming: Streaming) => stream(search, {}, streaming),
    },
    (call) => respondTo(call, {}),
  )
}

/** A list of the user surface. It adds the owner's id to `where`, so `find` is never called without it. */
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

/** What the lists of both surfaces have in common. `own` is added to the conditions from the query. */
function list<Where, Row extends z.ZodObject, Meta extends z.ZodObject>(
  row: ListRow<Where, object, Row, Meta>,
  differing: Parameters,
  searched?: Searched,
) {
  const filters: Parameters = {
    ...(searched && { q: searchParameter(searched) }),
    ...row.filters,
    ...(row.sorts && { sort: sortParameter(row.sorts) }),
  }
  // A row without one leaves Meta at its default, the type of noMeta.
  const meta = row.meta ?? (noMeta as unknown as Meta)
  const parameters: Parameters = { ...listParameters(row.row), ...differing, ...filters }
  const common = {
    method: "GET",
    summary: row.summary,
    shape: "list",
    filters,
    parameters,
    data: row.row,
    meta,
  } as const

  /** The requested page and the conditions of its rows, whose types are those of Where's columns: see Filters. */
  async function parse(
    search: string,
    own: object,
    checkPermission: PermissionCheck,
  ): Promise<{ page: Page; where: Where }> {
    const { page, where } = parseListQuery(search, parameters, row.row)
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
      columns: page.fields ?? Object.keys(row.row.shape),
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
    return listEnvelope(page)
  }
  return { common, read, stream, respondTo }
}

const checkNothingMore: PermissionCheck = (permission) =>
  refuseAs("forbidden", `This query needs the permission ${permission}.`)

/** Replaces the search among the conditions with the ids that it finds. Names and keys are searched by who may read them. */
async function withMatches(
  searched: Searched,
  { q, ...where }: Record<string, unknown>,
  checkPermission: PermissionCheck,
) {
  if (q === undefined) return where
  const term = q as Term
  if (searched.account && term.kind !== "id") checkPermission("users.read")
  const id = await searchFor(searched, term)
  const tooMany = `q has more than ${maxMatches.toLocaleString("en")} matches: narrow the search.`
  return { ...where, id: id ?? refuseAs("bad_request", tooMany) }
}
