import type { z } from "zod"
import type { Found, Page, Position } from "@/lib/platform/postgres/page"
import { defaultSort, encodeCursor } from "./parameters"

export type List<Row, Meta = unknown> = {
  data: Row[]
  /** `totalIsMinimum`: there can be more matching rows than were counted. */
  meta: { total: number; limit: number; offset: number; nextCursor: string | null; totalIsMinimum?: boolean } & Meta
}

export function pageOf<Row extends z.ZodObject, Meta extends z.ZodObject>(
  schema: Row,
  metaSchema: Meta,
  page: Page,
  found: Found<z.input<Row>>,
): List<z.output<Row>, z.output<Meta>> {
  const { limit, offset, order, sort = defaultSort, fields } = page
  const hasMore = found.rows.length > limit
  const rows = hasMore ? found.rows.slice(0, limit) : found.rows
  const last = rows.at(-1) as Record<string, unknown> | undefined
  const nextCursor = hasMore && last ? encodeCursor(order, { value: last[sort], id: last.id } as Position, sort) : null
  const meta = { total: found.total, limit, offset, nextCursor, ...metaSchema.parse(found.meta ?? {}) }
  return { data: rows.map((row) => selected(schema, fields, row)), meta }
}

/** A schema for each selection would take longer to make than to use. */
export function selected<Row extends z.ZodObject>(
  schema: Row,
  fields: readonly string[] | undefined,
  row: unknown,
): z.output<Row> {
  if (!fields) return schema.parse(row)
  const found = row as Readonly<Record<string, unknown>>
  const values = fields.map((name) => [name, (schema.shape[name] as z.ZodType).parse(found[name])])
  return Object.fromEntries(values) as z.output<Row>
}

/** Without these fields of `meta`, if the request says `meta=short`. */
export function shortened<Page extends { meta: object }>(page: Page, { searchParams }: URL, left: readonly string[]) {
  if (searchParams.get("meta") !== "short") return page
  return { ...page, meta: Object.fromEntries(Object.entries(page.meta).filter(([name]) => !left.includes(name))) }
}

export function listEnvelope({ data, meta }: { data: readonly unknown[]; meta: object }): string {
  return JSON.stringify({ data, meta })
}

export function objectEnvelope(data: unknown): string {
  return JSON.stringify({ data })
}

/** Split around the balance, which the database inserts when it settles the run. */
export function runEnvelope({ runId, cost, result, createdAt }: SettledRun): [string, string] {
  const beforeBalance = `{"data":{"id":${JSON.stringify(runId)},"cost":${cost},"balance":`
  return [beforeBalance, `,"result":${JSON.stringify(result)},"createdAt":${JSON.stringify(createdAt)}}}`]
}

export function runIdOf(body: string): string {
  return JSON.parse(body).data.id
}

type SettledRun = { runId: string; cost: number; result: unknown; createdAt: Date }

export function errorEnvelope(code: string, message: string): string {
  return JSON.stringify({ error: { code, message } })
}
