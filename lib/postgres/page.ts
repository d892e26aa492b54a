import { createHash } from "node:crypto"
import { types } from "pg"
import type { z } from "zod"
import { pool } from "./pool"

/** Which part of a list is asked for: parsed from the query of the API or of a console page. */
export type Page = Range & {
  limit: number
  offset: number
  order: "asc" | "desc"
  /** The last row already seen: what follows it is asked for, and `offset` is 0. */
  after?: Position
}

/** Bounds on `createdAt`, both inclusive. */
export type Range = { since?: Date; until?: Date }

/** Where a row stands: lists are ordered by `createdAt`, then `id`. */
export type Position = { createdAt: Date; id: string }

/** What a `find` answers. `rows` may hold one row more than `page.limit`, by which the caller sees that more follow. */
export type Found<Row> = { rows: readonly Row[]; total: number; meta?: Record<string, unknown> }

/** A value on its way into a statement; what comes back stands for it in the SQL: `$3`. */
export type Bind = (value: unknown) => string

/** Writes the SQL of one value beside the rows, of their snapshot: of all that match, whatever the page. */
export type Scalar<Where> = (where: Where, range: Range, bind: Bind) => string

/** A table as a list shows it. Its columns are named as the fields of `row`, in snake case; only those are read. */
export type List<Row extends z.ZodObject, Where = Partial<z.input<Row>>> = {
  table: string
  row: Row
  /** The SQL of fields that are no column of their name; the row of the table is `page`. */
  columns?: { readonly [Field in keyof Row["shape"]]?: string }
  /** How many rows match, where something knows it faster than counting. */
  total?: (...of: Parameters<Scalar<Where>>) => string | undefined
  /** What the list says beside its rows. */
  meta?: Readonly<Record<string, Scalar<Where>>>
}

/**
 * Reads a page of a list, its total and what stands beside it, in one statement: all from one snapshot of the database.
 * @param where the columns that are narrowed, each to one value
 */
export async function findIn<Row extends z.ZodObject, Where extends Partial<z.input<Row>>>(
  list: List<Row, Where>,
  where: Where,
  page: Page,
): Promise<Found<z.input<Row>>> {
  const { rows } = await pool().query<z.input<Row> & Head>({
    ...statementOf(list, where, page),
    types: { getTypeParser },
  })
  const [head] = rows
  if (!head) throw new Error("The statement of a list answers with at least one row.")
  const meta = Object.fromEntries(Object.keys(list.meta ?? {}).map((name) => [name, head[`meta.${name}`]]))
  return { rows: head.id === null ? [] : rows, total: head["meta.total"], meta }
}

/** On every row, and on a row of nothing else where the page is empty. */
type Head = { "meta.total": number; [name: `meta.${string}`]: unknown }

/** The statement of a page. Identifiers come from code alone, and values are parameters alone. */
export function statementOf<Row extends z.ZodObject, Where extends Partial<z.input<Row>>>(
  list: List<Row, Where>,
  where: Where,
  page: Page,
) {
  const values: unknown[] = []
  const bind: Bind = (value) => `$${values.push(value)}`
  const { since, until, after, order, limit, offset } = page

  const conditions = Object.entries(where).map(([field, value]) => `${columnOf(list, field)} = ${bind(value)}`)
  if (since) conditions.push(`created_at >= ${bind(since)}`)
  if (until) conditions.push(`created_at <= ${bind(until)}`)
  const count = `(SELECT count(*) FROM ${list.table} ${whereAll(conditions)})`
  const total = list.total?.(where, page, bind) ?? count
  const scalars = Object.entries(list.meta ?? {}).map(([name, write]) => [name, write(where, page, bind)])
  const head = [["total", total], ...scalars].map(([name, sql]) => `${sql} AS "meta.${name}"`)

  const id = columnOf(list, "id")
  const [beyond, direction] = order === "desc" ? ["<", "DESC"] : [">", "ASC"]
  if (after) conditions.push(`(created_at, ${id}) ${beyond} (${bind(after.createdAt)}, ${bind(after.id)})`)
  const ordered = `ORDER BY created_at ${direction}, ${id} ${direction}`
  const fields = Object.keys(list.row.shape).map((field) => `${columnOf(list, field)} AS "${field}"`)

  const text = `
    WITH head AS MATERIALIZED (SELECT ${head.join(", ")})
    SELECT head.*, ${fields.join(", ")}
    FROM head LEFT JOIN (
      SELECT * FROM ${list.table} ${whereAll(conditions)} ${ordered} LIMIT ${bind(limit + 1)} OFFSET ${bind(offset)}
    ) page ON true
    ${ordered}`
  const isSteady = Object.keys(where).every((field) => field === "userId")
  return { ...(isSteady && { name: nameOf(text) }), text, values }
}

/**
 * Prepared once a connection, which halves a short read, where one plan serves all values: the rows of all accounts and
 * those of one stand in an index in their order. A status may be that of one row or of nearly all, and its best index
 * another, so what is narrowed by anything else is planned for its values.
 */
function nameOf(text: string): string {
  return `list-${createHash("sha1").update(text).digest("hex")}`
}

function whereAll(conditions: readonly string[]): string {
  return conditions.length > 0 ? `WHERE ${conditions.join(" AND ")}` : ""
}

/** @throws Error for what is no field of the list's rows, so that no name from elsewhere becomes SQL */
function columnOf<Row extends z.ZodObject>(
  { row, columns }: Pick<List<Row>, "row" | "columns">,
  field: string,
): string {
  if (!Object.hasOwn(row.shape, field)) throw new Error(`The list has no field ${field}.`)
  return columns?.[field] ?? columnName(field)
}

/** The column of a field: `"created_at"` of `createdAt`. */
export function columnName(field: string): string {
  return `"${field.replaceAll(/[A-Z]/g, (email) => `_${email.toLowerCase()}`)}"`
}

// The driver makes a Date of a time, which costs more than all else about a row, and leaves 64-bit integers as text.
const parsers = new Map<number, (text: string) => unknown>([
  [types.builtins.INT8, Number],
  [types.builtins.TIMESTAMPTZ, parseTime],
])

function getTypeParser(oid: number) {
  return parsers.get(oid) ?? types.getTypeParser(oid)
}

/** A time in ISO 8601, from what PostgreSQL writes in UTC, `2026-01-31 12:00:00.12+00`; the driver knows its other forms. */
function parseTime(text: string): unknown {
  if (!text.endsWith("+00") || text[10] !== " ") return types.getTypeParser(types.builtins.TIMESTAMPTZ)(text)
  const milliseconds = text.slice(20, -3).padEnd(3, "0")
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${milliseconds}Z`
}
