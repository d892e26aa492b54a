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
import { ours, said } from "./said"
import type { StreamFormat } from "./streams/formats"
import { type PermissionCheck, readingOf, refusePaging } from "./streams/page-or-stream"
import { openStream, type Reader } from "./streams/stream"

export type AdminEndpoint<Row, Meta = unknown> = Endpoint & {
  readonly permission: Permission
  /** Without `checkPermission`, a query that needs a further permission is refused. */
  readonly read: (search: string, checkPermission?: PermissionCheck) => Promise<List<Row, Meta>>
  readonly stream: (search: string, streaming: Streaming) => Promise<StreamedBody>
}

type UserEndpoint<Row, Meta = unknown> = Endpoint & {
  readonly read: (owner: OwnerId, search: string) => Promise<List<Row, Meta>>
  readonly stream: (owner: OwnerId, search: string, streaming: Streaming) => Promise<StreamedBody>
}

type Streaming = { format: StreamFormat; reader: Reader; checkPermission?: PermissionCheck }

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
  const id = await searchFor(searched, term)
  const tooMany = said`q has more than ${ours(maxMatches.toLocaleString("en"))} matches: narrow the search.`
  return { ...where, id: id ?? refuseAs("bad_request", tooMany) }
}
