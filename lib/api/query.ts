import { z } from "zod"
import type { Page, Position } from "@/lib/platform/postgres/page"
import { isStorable } from "@/lib/platform/schemas/text"
import { product } from "@/lib/product"
import { anyPrefix } from "@/lib/surfaces"
import { refuseAs } from "./errors"
import { cursorError, defaultSort, limitBounds, type Parameters, type sharedParameters } from "./parameters"
import { isWord, ours, quoted, type Said, said, saidAbout } from "./said"

const maxParameters = 50

/** @throws Refusal 400 that names the parameter and the accepted values */
export function parseListQuery(
  search: string,
  parameters: Parameters,
  row: z.ZodObject,
): { page: Page; where: Record<string, unknown> } {
  const values = parseParameters(search, parameters)
  refuseReversedRanges(values)
  const {
    limit,
    offset,
    since,
    until,
    order,
    cursor,
    fields,
    sort = cursor?.sort ?? defaultSort,
    ...where
  } = values as { sort?: string } & {
    [Name in keyof typeof sharedParameters]?: z.output<(typeof sharedParameters)[Name]>
  }
  if (cursor) {
    const isOfList = cursor.sort === defaultSort || parameters.sort?.safeParse(cursor.sort).success
    if (!isOfList || !isPosition(cursor, row, cursor.sort)) refuseAs("bad_request", said`cursor ${ours(cursorError)}.`)
    if (offset !== undefined) refuseAs("bad_request", said`Send either cursor or offset, not both.`)
    if (order && cursor.order !== order) refuseAs("bad_request", said`cursor was issued for order=${cursor.order}.`)
    if (cursor.sort !== sort) refuseAs("bad_request", said`cursor was issued for sort=${cursor.sort}.`)
  }
  const page: Page = {
    limit: limit ?? limitBounds.default,
    offset: offset ?? 0,
    order: order ?? cursor?.order ?? "desc",
    ...(sort !== defaultSort && { sort }),
    ...(since && { since }),
    ...(until && { until }),
    ...(cursor && { after: { value: cursor.value, id: cursor.id } }),
    ...(fields && { fields }),
  }
  return { page, where }
}

function refuseReversedRanges(values: Record<string, unknown>): void {
  for (const [name, start] of Object.entries(values)) {
    const other = name.replace(/since$/, "until").replace(/Since$/, "Until")
    const end = values[other]
    if (other !== name && start instanceof Date && end instanceof Date && start > end) {
      refuseAs("bad_request", said`${name} must not be later than ${other}.`)
    }
  }
}

function isPosition({ value, id }: Position, { shape }: z.ZodObject, sort: string): boolean {
  const valueSchema = sort === defaultSort ? z.date() : (shape[sort] as z.ZodType)
  return (shape.id as z.ZodType).safeParse(id).success && valueSchema.safeParse(value).success
}

/** @throws Refusal 400 that names an unknown, repeated or invalid parameter */
export function parseParameters(search: string, parameters: Parameters): Record<string, unknown> {
  const entries = [...new URLSearchParams(search)]
  if (entries.length > maxParameters)
    refuseAs("bad_request", said`A query can have at most ${maxParameters} parameters.`)
  const values = new Map<string, unknown>()
  for (const [name, text] of entries) {
    const schema = Object.hasOwn(parameters, name) ? parameters[name] : undefined
    if (!schema) {
      const accepted = Object.keys(parameters).join(", ")
      refuseAs(
        "bad_request",
        said`Unknown parameter ${quote(name)}. ${ours(accepted ? `Accepted: ${accepted}.` : "None are accepted.")}`,
      )
    }
    if (values.has(name)) refuseAs("bad_request", said`${name} is given more than once.`)
    values.set(name, parseValue(name, text, schema))
  }
  return Object.fromEntries(values)
}

/** @throws Refusal 400 that states the accepted values */
export function parseValue(name: string, text: string, schema: z.ZodType): unknown {
  // Percent-encoded bytes that are not UTF-8 arrive as U+FFFD.
  if (!isStorable(text) || text.includes("\uFFFD")) refuseAs("bad_request", said`${name} is not valid UTF-8 text.`)
  const parsed = schema.safeParse(text)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  return refuseAs(
    "bad_request",
    said`${name} ${issue ? expectation(issue, text) : ours("is invalid")}, got ${quote(text, isWord)}.`,
  )
}

/** @param value the part of the input that the issue is about */
export function expectation(issue: z.core.$ZodIssue, value: unknown): Said {
  if (issue.code === "invalid_value") return said`must be one of ${ours(issue.values.join(", "))}`
  if (issue.code === "invalid_format" && issue.format === "uuid") return said`must be a UUID`
  return saidAbout(value, issue.message)
}

const apiKey = new RegExp(`${anyPrefix}\\w*`, "g")

/** Masks API keys. */
function quote(text: string, isKept?: (text: string) => boolean): Said {
  return quoted(text, text.replaceAll(apiKey, `${product.slug}_…`), isKept)
}
