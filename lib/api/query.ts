import { z } from "zod"
import { isStorable } from "@/lib/form/text"
import type { Page, Position } from "@/lib/postgres/page"
import { refuseAs } from "./errors"

export const limitBounds = { min: 1, max: 500, default: 100 }
/** The largest signed 32-bit integer. */
export const maxOffset = 2_147_483_647

/** An offset takes time in proportion to its size; this many rows are skipped in a few milliseconds. */
export const usefulOffset = 10_000

const maxParameters = 50

/** An integer in plain decimal digits. Number() would also accept `0x10`, `1e2` and ` 5 `. */
function integer(min: number, max: number) {
  const error = `must be an integer from ${min} to ${max}`
  return z
    .string()
    .regex(/^(0|[1-9]\d{0,9})$/, error)
    .transform(Number)
    .pipe(z.number().min(min, error).max(max, error))
    .meta({ type: "integer", minimum: min, maximum: max })
}

const timeError =
  "must be a date (2026-01-31), an ISO 8601 time with offset (2026-01-31T12:00:00Z) or epoch milliseconds"
const earliestMs = Date.parse("0001-01-01T00:00:00.000Z")
const latestMs = Date.parse("9999-12-31T23:59:59.999Z")
const dayPattern = /^\d{4}-\d{2}-\d{2}$/
const timePattern =
  /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/
const epochPattern = /^(0|-?[1-9]\d{0,14})$/

/** A point in time. A plain date is the first millisecond of its UTC day, or the last with `endOfDay`. */
function time(endOfDay: boolean) {
  return z.string().transform((text, context): Date => {
    const ms = timeMs(text, endOfDay)
    if (ms !== undefined && ms >= earliestMs && ms <= latestMs) return new Date(ms)
    const plusHint = / \d\d:\d\d$/.test(text) ? "; a + in a query must be sent as %2B" : ""
    context.addIssue({ code: "custom", message: timeError + plusHint })
    return z.NEVER
  })
}

function timeMs(text: string, endOfDay: boolean): number | undefined {
  if (epochPattern.test(text)) return Number(text)
  const day = dayPattern.test(text) ? text : timePattern.exec(text)?.[1]
  if (day === undefined || !isCalendarDay(day)) return undefined
  return Date.parse(day === text ? `${day}T${endOfDay ? "23:59:59.999" : "00:00:00.000"}Z` : text)
}

/** Date.parse turns 30 February into 1 March. */
function isCalendarDay(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day)
}

const cursorError = "must be the meta.nextCursor of an earlier response"

/** The order, and the time in milliseconds and id of the last row of a page, in base64url. Opaque to clients. */
export function encodeCursor(order: Page["order"], { createdAt, id }: Position): string {
  return Buffer.from(`${order} ${createdAt.getTime()} ${id}`).toString("base64url")
}

const cursor = z
  .string()
  .max(200, cursorError)
  .transform((text, context) => {
    const [order, ms, id] = Buffer.from(text, "base64url").toString("latin1").split(" ")
    const createdAt = new Date(epochPattern.test(ms ?? "") ? Number(ms) : Number.NaN)
    const parsed = z.object({ order: z.enum(["asc", "desc"]), id: z.string().min(1) }).safeParse({ order, id })
    const inRange = createdAt.getTime() >= earliestMs && createdAt.getTime() <= latestMs
    if (parsed.success && inRange) return { ...parsed.data, createdAt }
    context.addIssue({ code: "custom", message: cursorError })
    return z.NEVER
  })

/** The parameters of every list endpoint. */
export const sharedParameters = {
  limit: integer(limitBounds.min, limitBounds.max).meta({
    default: limitBounds.default,
    description: "Rows per page",
  }),
  offset: integer(0, maxOffset).meta({
    default: 0,
    description: `Rows to skip; large offsets are slow, so use cursor beyond about ${usefulOffset}`,
  }),
  since: time(false).describe("Rows created at or after this time: a date, an ISO 8601 time or epoch milliseconds"),
  until: time(true).describe("Rows created at or before this time; a plain date includes that whole UTC day"),
  order: z
    .enum(["asc", "desc"])
    .meta({ default: "desc", description: "Sorts by createdAt, then id; desc returns the newest rows first" }),
  cursor: cursor.describe("meta.nextCursor of the previous page; cannot be combined with offset"),
}

export type Parameters = Readonly<Record<string, z.ZodType>>

/**
 * Parses the query of a list endpoint strictly: every error is a 400 that names the parameter and what it accepts.
 * @param search the query, with or without its `?`
 * @param rowId the schema of a row's `id`, which also validates the id in a cursor
 */
export function parseListQuery(
  search: string,
  filters: Parameters,
  rowId: z.ZodType,
): { page: Page; where: Record<string, unknown> } {
  const values = parseParameters(search, { ...sharedParameters, ...filters })
  const {
    limit,
    offset,
    since,
    until,
    order,
    cursor: after,
    ...where
  } = values as {
    [Name in keyof typeof sharedParameters]?: z.output<(typeof sharedParameters)[Name]>
  }
  if (since && until && since > until) refuseAs("bad_request", "since must not be later than until.")
  if (after && !rowId.safeParse(after.id).success) refuseAs("bad_request", `cursor ${cursorError}.`)
  if (after && offset !== undefined) refuseAs("bad_request", "Send either cursor or offset, not both.")
  if (after && order && after.order !== order) refuseAs("bad_request", `cursor was issued for order=${after.order}.`)
  const page: Page = {
    limit: limit ?? limitBounds.default,
    offset: offset ?? 0,
    order: order ?? after?.order ?? "desc",
    ...(since && { since }),
    ...(until && { until }),
    ...(after && { after: { createdAt: after.createdAt, id: after.id } }),
  }
  return { page, where }
}

/** Parses a query into the parameters of an endpoint. Unknown, repeated and invalid parameters are refused by name. */
export function parseParameters(search: string, parameters: Parameters): Record<string, unknown> {
  const entries = [...new URLSearchParams(search)]
  if (entries.length > maxParameters) refuseAs("bad_request", `A query can have at most ${maxParameters} parameters.`)
  const values = new Map<string, unknown>()
  for (const [name, text] of entries) {
    const schema = Object.hasOwn(parameters, name) ? parameters[name] : undefined
    if (!schema) {
      const accepted = Object.keys(parameters).join(", ")
      refuseAs(
        "bad_request",
        `Unknown parameter ${quote(name)}. ${accepted ? `Accepted: ${accepted}.` : "None are accepted."}`,
      )
    }
    if (values.has(name)) refuseAs("bad_request", `${name} is given more than once.`)
    values.set(name, parseValue(name, text, schema))
  }
  return Object.fromEntries(values)
}

function parseValue(name: string, text: string, schema: z.ZodType): unknown {
  // Percent-encoded bytes that are not UTF-8 arrive as U+FFFD.
  if (!isStorable(text) || text.includes("\uFFFD")) refuseAs("bad_request", `${name} is not valid UTF-8 text.`)
  const parsed = schema.safeParse(text)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  return refuseAs("bad_request", `${name} ${issue ? expectation(issue) : "is invalid"}, got ${quote(text)}.`)
}

/** What a value must be, worded to follow the name of its parameter or field. */
export function expectation(issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_value") return `must be one of ${issue.values.join(", ")}`
  if (issue.code === "invalid_format" && issue.format === "uuid") return "must be a UUID"
  return issue.message
}

/** The value as sent, shortened, and with API keys masked. */
function quote(text: string): string {
  const shown = text.replaceAll(/tsk_(adm|usr)_\w*/g, "tsk_…")
  return JSON.stringify(shown.length > 60 ? `${shown.slice(0, 60)}…` : shown)
}
