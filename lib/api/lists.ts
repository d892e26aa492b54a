import { z } from "zod"
import type { OwnerId } from "@/lib/accounts/owner"
import type { Family } from "@/lib/metrics/family"
import type { Found, Page } from "@/lib/postgres/page"
import type { Permission } from "../permissions"
import { type Endpoint, type Routes, routes } from "./endpoint"
import { type List, listEnvelope } from "./envelope"
import { encodeCursor, type Parameters, sharedParameters } from "./parameters"
import { parseListQuery } from "./query"
import type { Draft } from "./respond"

/** An admin list that pages can read too, with the same rows, parameters and errors as over HTTP. */
export type AdminEndpoint<Row, Meta = unknown> = Endpoint & {
  readonly permission: Permission
  /** @param search the query, with or without its `?` */
  readonly read: (search: string) => Promise<List<Row, Meta>>
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
  const { common, read } = list(row)
  return routes(
    {
      ...common,
      surface: "admin",
      permission,
      scope: permission,
      recipes,
      ...(metrics && { metrics }),
      read: (search: string) => read(search, {}),
    },
    async (request, _caller, withinDeadline, draft) =>
      write(await withinDeadline(read(new URL(request.url).search, {})), draft),
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
  const { common, read } = list(row)
  return routes(
    {
      ...common,
      surface: "user",
      permission: undefined,
      scope: "read",
      recipes: {},
      read: (userId: OwnerId, search: string) => read(search, { userId }),
    },
    async (request, { owner }, withinDeadline, draft) =>
      write(await withinDeadline(read(new URL(request.url).search, { userId: owner.id })), draft),
  )
}

function write(list: List<unknown>, draft: Draft): string {
  draft.rows = list.data.length
  return listEnvelope(list)
}

/** What the lists of both surfaces have in common. `read` adds `own` to the conditions from the query. */
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
  return { common, read }
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
