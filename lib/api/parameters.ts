import { z } from "zod"
import type { Page, Position } from "@/lib/platform/postgres/page"
import type { Searched, Term } from "@/lib/platform/postgres/search"
import { integer } from "@/lib/platform/schemas/integer"
import { direction, isStorable } from "@/lib/platform/schemas/text"
import { plainPunctuation } from "@/lib/platform/text/typed-punctuation"
import { anyPrefix } from "@/lib/surfaces"

export const limitBounds = { min: 1, max: 500, default: 100 }
/** The largest signed 32-bit integer. */
export const maxOffset = 2_147_483_647

/** The time grows with the offset: this many rows take a few milliseconds. Customers can skip no more. */
export const usefulOffset = 10_000

const timeError =
  "must be a date (2026-01-31), an ISO 8601 time with offset (2026-01-31T12:00:00Z) or epoch milliseconds"
const earliestMs = Date.parse("0001-01-01T00:00:00.000Z")
const latestMs = Date.parse("9999-12-31T23:59:59.999Z")
const dayPattern = /^\d{4}-\d{2}-\d{2}$/
const timePattern =
  /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/
const epochPattern = /^(0|-?[1-9]\d{0,14})$/

/** A plain date is the first millisecond of its UTC day, or the last with `endOfDay`. */
export function time(endOfDay: boolean) {
  return z.string().transform((text, context): Date => {
    const ms = timeMs(text, endOfDay)
    const hint = epochPattern.test(text) ? mistakenFor(Number(text)) : undefined
    if (hint) {
      context.addIssue({ code: "custom", message: hint })
      return z.NEVER
    }
    if (ms !== undefined && ms >= earliestMs && ms <= latestMs) return new Date(ms)
    const plusHint = / \d\d:\d\d$/.test(text) ? "; a + in a query must be sent as %2B" : ""
    context.addIssue({ code: "custom", message: timeError + plusHint })
    return z.NEVER
  })
}

/** A smaller number is a year, or a time in seconds. */
const firstPlausibleMs = Date.parse("2000-01-01T00:00:00.000Z")

/** Zero and negative numbers are plausible: they ask for all rows. */
function mistakenFor(number: number): string | undefined {
  if (number <= 0 || number >= firstPlausibleMs) return undefined
  const asMs = new Date(number).toISOString()
  if (number >= 1000 && number <= 9999) return `is ${asMs} in epoch milliseconds; write a year as ${number}-01-01`
  if (number * 1000 < firstPlausibleMs) return "is too early as a time in epoch milliseconds; send a date"
  return `is ${asMs} in epoch milliseconds; for a time in epoch seconds send ${number}000`
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

export const defaultSort = "createdAt"

export function encodeCursor(order: Page["order"], { value, id }: Position, sort: string = defaultSort): string {
  const place = sort === defaultSort ? `${new Date(value).getTime()} ${id}` : `${sort} ${id} ${JSON.stringify(value)}`
  return Buffer.from(`${order} ${place}`).toString("base64url")
}

type Cursor = Position & { order: Page["order"]; sort: string }

const cursor = z
  .string()
  .max(4_000, cursorError)
  .transform((text, context): Cursor => {
    const decoded = decodeCursor(Buffer.from(text, "base64url").toString())
    if (decoded && isStorable(`${decoded.id}${decoded.value}`)) return decoded
    context.addIssue({ code: "custom", message: cursorError })
    return z.NEVER
  })

function decodeCursor(text: string): Cursor | undefined {
  const [, order = "", first = "", second = "", rest] = /^(asc|desc) (\S+) (\S+)(?: (.+))?$/s.exec(text) ?? []
  if (order !== "asc" && order !== "desc") return undefined
  if (rest !== undefined) {
    const value = parseJson(rest)
    return typeof value === "string" || typeof value === "number"
      ? { order, sort: first, id: second, value }
      : undefined
  }
  const ms = epochPattern.test(first) ? Number(first) : Number.NaN
  return ms >= earliestMs && ms <= latestMs ? { order, sort: defaultSort, id: second, value: new Date(ms) } : undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function fieldsOf(names: readonly string[], pattern: string) {
  return z
    .string()
    .regex(
      new RegExp(`^(${pattern})(,(${pattern}))*$`),
      `must be names of fields, separated by commas: ${names.join(", ")}`,
    )
    .transform((text) => [...new Set(text.split(","))])
    .describe("Only these, separated by commas and, in CSV, in this order")
}

export const sharedParameters = {
  limit: integer(limitBounds.min, limitBounds.max).meta({
    default: limitBounds.default,
    description: "Rows per page",
  }),
  offset: integer(0, maxOffset).meta({
    default: 0,
    description: `Rows to skip; beyond ${usefulOffset} use cursor`,
  }),
  since: time(false).describe("Rows created since then: a date, an ISO 8601 time or epoch milliseconds"),
  until: time(true).describe("Rows created until then; a date includes that UTC day"),
  order: z.enum(["asc", "desc"]).meta({ default: "desc", description: "Of createdAt, then id" }),
  cursor: cursor.describe("meta.nextCursor of the page before, without offset"),
  fields: fieldsOf([], "[A-Za-z0-9]{1,40}"),
}

export function listParameters(row: z.ZodObject) {
  const names = Object.keys(row.shape)
  return { ...sharedParameters, fields: fieldsOf(names, names.join("|")) }
}

/** For responses that repeat what a client may know already. */
export function metaParameter(left: readonly string[]) {
  return z
    .enum(["all", "short"])
    .meta({ default: "all", description: `short leaves out ${left.map((name) => `meta.${name}`).join(" and ")}` })
}

export const userOffset = integer(0, usefulOffset, "; read on with cursor").meta({
  default: 0,
  description: `Rows to skip, at most ${usefulOffset}; use cursor beyond`,
})

export function sortParameter(fields: readonly string[]) {
  return z
    .enum([defaultSort, ...fields])
    .meta({ default: defaultSort, description: "Sorts by this field, then id, in the given order" })
}

export const searchLength = { min: 3, max: 100 }
const searchError = `must have ${searchLength.min} to ${searchLength.max} characters, without control characters`
const keyStart = new RegExp(`^(${anyPrefix}\\w{0,4})\\w{0,3}…?$`)
const longKeyStart = new RegExp(`${anyPrefix}\\w{8}`)

/** The value appears in URLs, so it is never a whole key. */
export function searchParameter({ account }: Searched) {
  const found = account
    ? "part of the account's name or address, or a key's first characters, both with users.read; or the id of a row or its account"
    : "part of the address, or the id of a row"
  return z
    .string()
    .transform((sent, context): Term => {
      const value = plainPunctuation(sent.replace(direction, "").trim())
      if (longKeyStart.test(value)) {
        context.addIssue({ code: "custom", message: "must not contain an API key: its first characters are enough" })
        return z.NEVER
      }
      const length = [...plainPunctuation(withoutAccents(value))].length
      if (length < searchLength.min || value.length > searchLength.max || /\p{Cc}/u.test(value)) {
        context.addIssue({ code: "custom", message: searchError })
        return z.NEVER
      }
      if (z.uuid().safeParse(value).success) return { kind: "id", value }
      const start = keyStart.exec(value)?.[1]
      return start ? { kind: "key", value: start } : { kind: "text", value }
    })
    .meta({ minLength: searchLength.min, maxLength: searchLength.max, description: `Searches for ${found}` })
}

/** As in the database, which ignores accents too. */
function withoutAccents(text: string): string {
  return text
    .normalize("NFKD")
    .replaceAll(/[\u0300-\u036f]/g, "")
    .normalize("NFC")
}

export type Parameters = Readonly<Record<string, z.ZodType>>
