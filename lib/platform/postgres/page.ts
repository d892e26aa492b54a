import { createHash } from "node:crypto"
import { types } from "pg"
import type { z } from "zod"
import { readPool } from "./standbys"

export type Selection = Range & {
  order: "asc" | "desc"
  sort?: string
  /** Fields of a position are read too; all fields if omitted. */
  fields?: readonly string[]
}

export type Page = Selection & {
  limit: number
  offset: number
  after?: Position
}

/** Bounds on `createdAt`, both inclusive. */
export type Range = { since?: Date; until?: Date }

export type Position = { value: Date | string | number; id: string }

export type Statement = { text: string; values: unknown[] }

/** `rows` has one row more than `page.limit` if another page follows. */
export type Found<Row> = { rows: readonly Row[]; total: number; meta?: Record<string, unknown> }

export type All<Row> = Statement | readonly Row[]

/** Returns the placeholder, such as `$3`. */
export type Bind = (value: unknown) => string

/** The value of a filter: from the first to the last number. */
export class Between {
  constructor(
    readonly first: number,
    readonly last: number,
  ) {}
}

/** An array equals one of its elements. @param type of the placeholders */
export function equals(column: string, value: unknown, bind: Bind, type = ""): string {
  if (Array.isArray(value)) return `${column} = ANY (${bind(value)})`
  if (!(value instanceof Between)) return `${column} = ${bind(value)}${type}`
  return `${column} BETWEEN ${bind(value.first)}${type} AND ${bind(value.last)}${type}`
}

/** Returns SQL that is read in the same snapshot as the page. */
export type Scalar<Where> = (where: Where, range: Range, bind: Bind) => string

/** SQL for any value, or for each value of a choice. */
export type Conditions<Name extends string = string> = Readonly<
  Record<Name, ((placeholder: string) => string) | Readonly<Record<string, string>>>
>

/** Reads only the columns named like the fields of `row`, in snake case. */
export type List<Row extends z.ZodObject, Where = Partial<z.input<Row>>> = {
  table: string
  row: Row
  /** The SQL of fields without a column of that name; the table row is `page`. */
  columns?: { readonly [Field in keyof Row["shape"]]?: string }
  conditions?: Conditions
  total?: (...of: Parameters<Scalar<Where>>) => string | undefined
  /**
   * Counting takes too long with these conditions: in a table of more than `rows`, at most `counted` rows are counted,
   * and `meta.totalIsMinimum` says so.
   */
  bounded?: { conditions: readonly string[]; rows: number; counted: number }
  /** Conditions that few rows match: those are sorted, because PostgreSQL would look for a short page in list order. */
  selective?: readonly string[]
  meta?: Readonly<Record<string, Scalar<Where>>>
}

export function findIn<
  Row extends z.ZodObject,
  Where extends { [Field in keyof z.input<Row>]?: unknown } = Partial<z.input<Row>>,
>(list: List<Row, Where>) {
  return {
    /** In one statement, so that rows, total and `meta` come from one snapshot. */
    async page(where: Where, page: Page): Promise<Found<z.input<Row>>> {
      const { rows } = await readPool().query<z.input<Row> & Meta>({
        ...statementOf(list, where, page),
        types: { getTypeParser },
      })
      const [first] = rows
      if (!first) throw new Error("The statement of a list returns at least one row.")
      const meta = Object.fromEntries(Object.keys(list.meta ?? {}).map((name) => [name, first[`meta.${name}`]]))
      const total = first["meta.total"]
      if (boundOf(list, where)?.counted === total) meta.totalIsMinimum = true
      return { rows: first.id === null ? [] : rows, total, meta }
    },
    all: async (where: Where, selection: Selection): Promise<All<z.input<Row>>> =>
      statementOfAll(list, where, selection),
  }
}

type AnyList = List<z.ZodObject, never>

/** An empty page is one row with these columns only. */
type Meta = { "meta.total": number; [name: `meta.${string}`]: unknown }

/** Identifiers come only from code, and values are always parameters. */
export function statementOf(list: AnyList, where: object, page: Page) {
  const values: unknown[] = []
  const bind: Bind = (value) => `$${values.push(value)}`
  const { after, limit, offset } = page

  const conditions = conditionsOf(list, where, page, bind)
  const total = list.total?.(where as never, page, bind) ?? countOf(list, where, conditions, bind)
  const scalars = Object.entries(list.meta ?? {}).map(([name, write]) => [name, write(where as never, page, bind)])
  const meta = [["total", total], ...scalars].map(([name, sql]) => `${sql} AS "meta.${name}"`)

  if (after) {
    const place = `(${columnOf(list, sortOf(page))}, ${columnOf(list, "id")})`
    conditions.push(`${place} ${page.order === "desc" ? "<" : ">"} (${bind(after.value)}, ${bind(after.id)})`)
  }
  const ordered = orderOf(list, page)
  const matching = `SELECT * FROM ${list.table} ${whereAll(conditions)}`
  const isSelective = list.selective?.some((name) => Object.hasOwn(where, name))
  const text = `
    WITH meta AS MATERIALIZED (SELECT ${meta.join(", ")})
    SELECT meta.*, ${fieldsOf(list, page)}
    FROM meta LEFT JOIN (
      ${isSelective ? `SELECT * FROM (${matching} OFFSET 0) matching` : matching} ${ordered} LIMIT ${bind(limit + 1)} OFFSET ${bind(offset)}
    ) page ON true
    ${ordered}`
  // Too many selections of fields exist to prepare each.
  const hasOnePlan = !page.fields && Object.keys(where).every((field) => field === "userId")
  return { ...(hasOnePlan && { name: nameOf(text) }), text, values }
}

function boundOf({ bounded }: AnyList, where: object) {
  return bounded?.conditions.some((name) => Object.hasOwn(where, name)) ? bounded : undefined
}

function countOf(list: AnyList, where: object, conditions: readonly string[], bind: Bind): string {
  const matching = `FROM ${list.table} ${whereAll(conditions)}`
  const count = `(SELECT count(*) ${matching})`
  const bound = boundOf(list, where)
  if (!bound) return count
  const rows = list.total?.({} as never, {}, bind) ?? `(SELECT count(*) FROM ${list.table})`
  return `(CASE WHEN ${rows} <= ${bound.rows} THEN ${count}
    ELSE (SELECT count(*) FROM (SELECT ${matching} LIMIT ${bound.counted}) counted) END)`
}

function statementOfAll(list: AnyList, where: object, selection: Selection): Statement {
  const values: unknown[] = []
  const conditions = conditionsOf(list, where, selection, (value) => `$${values.push(value)}`)
  const text = `
    SELECT ${fieldsOf(list, selection)}
    FROM (SELECT * FROM ${list.table} ${whereAll(conditions)}) page ${orderOf(list, selection)}`
  return { text, values }
}

function conditionsOf(list: AnyList, where: object, { since, until }: Range, bind: Bind): string[] {
  const conditions = Object.entries(where).map(([name, value]) => {
    const condition = Object.hasOwn(list.conditions ?? {}, name) ? list.conditions?.[name] : undefined
    if (typeof condition === "function") return condition(bind(value))
    if (condition) return String(condition[String(value)])
    return equals(columnOf(list, name), value, bind)
  })
  if (since) conditions.push(`created_at >= ${bind(since)}`)
  if (until) conditions.push(`created_at <= ${bind(until)}`)
  return conditions
}

function orderOf(list: AnyList, selection: Selection): string {
  const direction = selection.order === "desc" ? "DESC" : "ASC"
  return `ORDER BY ${columnOf(list, sortOf(selection))} ${direction}, ${columnOf(list, "id")} ${direction}`
}

function sortOf({ sort = "createdAt" }: Selection): string {
  return sort
}

function fieldsOf(list: AnyList, selection: Selection): string {
  const fields = selection.fields
    ? new Set([...selection.fields, "id", sortOf(selection)])
    : Object.keys(list.row.shape)
  return [...fields].map((field) => `${columnOf(list, field)} AS "${field}"`).join(", ")
}

/**
 * A prepared statement halves the time of a short read. Only statements with one good plan are prepared: an index has
 * the rows of all accounts, and of one, in list order. Other filters match one row or nearly all, so they are planned
 * for their values.
 */
function nameOf(text: string): string {
  return `list-${createHash("sha1").update(text).digest("hex")}`
}

function whereAll(conditions: readonly string[]): string {
  return conditions.length > 0 ? `WHERE ${conditions.join(" AND ")}` : ""
}

/** @throws Error if the list has no such field, so that only known names become SQL */
function columnOf({ row, columns }: AnyList, field: string): string {
  if (!Object.hasOwn(row.shape, field)) throw new Error(`The list has no field ${field}.`)
  return columns?.[field] ?? columnName(field)
}

export function columnName(field: string): string {
  return `"${field.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`)}"`
}

// The driver's default parsers are slow for times, which they turn into Dates, and leave 64-bit integers as text.
const parsers = new Map<number, (text: string) => unknown>([
  [types.builtins.INT8, Number],
  [types.builtins.TIMESTAMPTZ, parseTime],
])

export function getTypeParser(oid: number) {
  return parsers.get(oid) ?? types.getTypeParser(oid)
}

/** PostgreSQL's UTC format is `2026-01-31 12:00:00.12+00`; the driver parses other formats. */
function parseTime(text: string): unknown {
  if (!text.endsWith("+00") || text[10] !== " ") return types.getTypeParser(types.builtins.TIMESTAMPTZ)(text)
  const milliseconds = text.slice(20, -3).padEnd(3, "0")
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${milliseconds}Z`
}
