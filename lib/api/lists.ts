import { z } from "zod"
import type { OwnerId } from "@/lib/accounts/owner"
import type { Family } from "@/lib/metrics/family"
import type { WithinDeadline } from "@/lib/postgres/deadline"
import type { Found, Page } from "@/lib/postgres/page"
import type { Permission } from "../permissions"
import { type Access, authorizeAgain, type Caller } from "./authenticate"
import { type Endpoint, type Routes, routes } from "./endpoint"
import { type List, listEnvelope } from "./envelope"
import { refuseAs } from "./errors"
import { encodeCursor, type Parameters, sharedParameters } from "./parameters"
import { parseListQuery } from "./query"
import { type Body, type Draft, type StreamedBody, setAll } from "./respond"
import { openStream, type Reader } from "./stream"
import { type StreamFormat, streamFormatIn, streamHeaders } from "./stream-formats"

/** An admin list that pages can read too, with the same rows, parameters and errors as over HTTP. */
export type AdminEndpoint<Row, Meta = unknown> = Endpoint & {
  readonly permission: Permission
  /** @param search the query, with or without its `?` */
  readonly read: (search: string) => Promise<List<Row, Meta>>
  /** All rows that match a query without limit, offset and cursor. */
  readonly stream: (search: string, format: StreamFormat, reader: Reader) => Promise<StreamedBody>
}

/** A user list that pages can read too, for the signed-in account instead of a key's owner. */
export type UserEndpoint<Row, Meta = unknown> = Endpoint & {
  /** @param search the query, with or without its `?` */
  readonly read: (owner: OwnerId, search: string) => Promise<List<Row, Meta>>
}

export type Find<Where, Row extends z.ZodObject> = (where: Where, page: Page) => Promise<Found<z.input<Row>>>

/** A filter has the name and type of the `where` field that it sets, so a misspelled filter does not compile. */
export type Filters<Where> = { readonly [Column in keyof Where]?: z.ZodType<Where[Column], string> }

const noMeta = z.object({})

type ListRow<Where, AllowedFilters, Row extends z.ZodObject, Meta extends z.ZodObject> = {
  summary: string
  filters?: AllowedFilters
  row: Row
  /** The schema of what `meta` contains besides the page. */
  meta?: Meta
  find: Find<Where, Row>
}

/** A list of the admin surface: the rows of all accounts, for keys whose owner holds `permission`. */
export function adminList<Where extends object, Row extends z.ZodObject, Meta extends z.ZodObject = typeof noMeta>({
  permission,
  recipes = {},
  metrics,
  ...row
}: ListRow<Where, Filters<Where>, Row, Meta> & {
  permission: Permission
  recipes?: Record<string, string>
  /** What the metrics endpoint can count of these rows. */
  metrics?: Family
}): Routes<AdminEndpoint<z.output<Row>, z.output<Meta>>> {
  const { common, read, stream, write } = list(row)
  const access = { surface: "admin", permission, scope: permission } as const
  return routes(
    {
      ...common,
      ...access,
      recipes,
      ...(metrics && { metrics }),
      read: (search: string) => read(search, {}),
      stream: (search: string, format: StreamFormat, reader: Reader) => stream(search, {}, format, reader),
    },
    (request, caller, withinDeadline, draft) => write(request, {}, { caller, access, withinDeadline, draft }),
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
  const { common, read, write } = list(row)
  const access = { surface: "user", permission: undefined, scope: "read" } as const
  return routes(
    { ...common, ...access, recipes: {}, read: (userId: OwnerId, search: string) => read(search, { userId }) },
    (request, caller, withinDeadline, draft) =>
      write(request, { userId: caller.owner.id }, { caller, access, withinDeadline, draft }),
  )
}

type Context = { caller: Caller; access: Access; withinDeadline: WithinDeadline; draft: Draft }

/** Whether an endpoint is a list that the console can show. */
export function isAdminList(endpoint: Endpoint): endpoint is AdminEndpoint<unknown> {
  return endpoint.surface === "admin" && endpoint.shape === "list"
}

/** What the lists of both surfaces have in common. `read` and `stream` add `own` to the conditions from the query. */
function list<Where, Row extends z.ZodObject, Meta extends z.ZodObject>(row: ListRow<Where, object, Row, Meta>) {
  const filters = (row.filters ?? {}) as Parameters
  // A row without one leaves Meta at its default, the type of noMeta.
  const meta = row.meta ?? (noMeta as unknown as Meta)
  // Every row of a list has an `id`, which cursors contain.
  const id = row.row.shape.id as z.ZodType
  const common = {
    method: "GET",
    summary: row.summary,
    shape: "list",
    filters,
    parameters: { ...sharedParameters, ...filters },
    data: row.row,
    meta,
  } as const

  async function read(search: string, own: object): Promise<List<z.output<Row>, z.output<Meta>>> {
    const { page, where } = parseListQuery(search, filters, id)
    // The filters' types are those of Where's columns: see Filters.
    return pageOf(row.row, meta, page, await row.find({ ...where, ...own } as Where, page))
  }

  async function stream(search: string, own: object, format: StreamFormat, reader: Reader): Promise<StreamedBody> {
    refusePaging(search, format)
    const { page, where } = parseListQuery(search, filters, id)
    return openStream(reader, format, {
      columns: Object.keys(row.row.shape),
      find: () => row.find({ ...where, ...own } as Where, { ...page, limit: Number.MAX_SAFE_INTEGER, all: true }),
      rowOf: (found) => row.row.parse(found) as Record<string, unknown>,
    })
  }

  /** Responds with a page or, to a client that prefers one of their formats, with a stream. */
  async function write(
    request: Request,
    own: object,
    { caller, access, withinDeadline, draft }: Context,
  ): Promise<Body> {
    const { search } = new URL(request.url)
    setAll(draft.headers, { Vary: "Accept" })
    const format = streamFormatIn(request.headers)
    if (!format) {
      const found = await withinDeadline(read(search, own))
      draft.rows = found.data.length
      return listEnvelope(found)
    }
    const body = await stream(search, own, format, {
      id: caller.key.id,
      request,
      requestId: draft.headers["x-request-id"] ?? "",
      withinDeadline,
      check: () => authorizeAgain(request.headers, caller, access),
    })
    setAll(draft.headers, streamHeaders(format))
    return body
  }
  return { common, read, stream, write }
}

/** A stream has all rows: with a part of them it would look complete to a client that forgot about the parameter. */
function refusePaging(search: string, { type }: StreamFormat): void {
  const given = new URLSearchParams(search)
  for (const name of ["limit", "offset", "cursor"]) {
    if (!given.has(name)) continue
    refuseAs(
      "bad_request",
      `${name} selects a page, but as ${type} a list has all rows. Leave it out and narrow the list with since, until and filters, or send Accept: application/json.`,
    )
  }
}

function pageOf<Row extends z.ZodObject, Meta extends z.ZodObject>(
  schema: Row,
  metaSchema: Meta,
  page: Page,
  found: Found<z.input<Row>>,
): List<z.output<Row>, z.output<Meta>> {
  const hasMore = found.rows.length > page.limit
  const rows = hasMore ? found.rows.slice(0, page.limit) : found.rows
  const last = rows.at(-1) as { createdAt: Date | string; id: string } | undefined
  const nextCursor =
    hasMore && last ? encodeCursor(page.order, { createdAt: new Date(last.createdAt), id: last.id }) : null
  const { limit, offset } = page
  const meta = { total: found.total, limit, offset, nextCursor, ...metaSchema.parse(found.meta ?? {}) }
  return { data: rows.map((row) => schema.parse(row)), meta }
}
