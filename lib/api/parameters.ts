import { z } from "zod"
import { integer } from "@/lib/input/integer"
import type { Page, Position } from "@/lib/postgres/page"

export const limitBounds = { min: 1, max: 500, default: 100 }
/** The largest signed 32-bit integer. */
export const maxOffset = 2_147_483_647

/** An offset takes time in proportion to its size; this many rows are skipped in a few milliseconds. */
export const usefulOffset = 10_000

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

export const cursorError = "must be the meta.nextCursor of an earlier response"

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
