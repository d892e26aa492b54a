import { z } from "zod"
import { ask, type Row } from "@/lib/metrics/ask"
import type { Family, Source } from "@/lib/metrics/family"
import { maxStatsPeriods, periodsOf, type StatsInterval, statsInterval } from "@/lib/metrics/periods"
import { dimensionsOf, measureOf, type Question, QuestionError } from "@/lib/metrics/question"
import { untrustedText } from "@/lib/platform/schemas/fields"
import { type Endpoint, type Routes, routes } from "./endpoint"
import { listEnvelope, shortened } from "./envelope"
import { refuseAs } from "./errors"
import { limitBounds, metaParameter, type Parameters, sharedParameters } from "./parameters"
import { parseParameters, parseValue } from "./query"
import { ours, said } from "./said"
import { type PermissionCheck, readingOf, refusePaging } from "./streams/page-or-stream"
import { openStream } from "./streams/stream"

/** A unit of time included. */
const maxDimensions = 3

const units: readonly string[] = statsInterval.options

const cohort = { name: "cohort", each: "month" }

const names = z
  .string()
  .regex(/^[A-Za-z]{1,40}(,[A-Za-z]{1,40}){0,19}$/, "must be names, separated by commas")
  .transform((text) => [...new Set(text.split(","))])

/** Repeated by each response. */
const long = ["definitions"]

const shared = {
  measure: names.describe("Measures of one family, separated by commas"),
  by: names.describe(`Up to ${maxDimensions}: ${units.join(", ")}, and dimensions of the family`),
  since: sharedParameters.since.describe(
    `Start of the range, as in lists; 2000-01-01 for the beginning. By a unit of time, a range has at most ${maxStatsPeriods} periods`,
  ),
  until: sharedParameters.until.describe("End of the range, as in lists"),
  sort: z
    .string()
    .regex(/^[A-Za-z]{1,40}$/, "must be a name")
    .describe("A measure or dimension; by default the unit of time, or the first dimension"),
  order: z.enum(["asc", "desc"]).describe("By default desc for a measure"),
  limit: sharedParameters.limit,
  offset: sharedParameters.offset.meta({ default: 0, description: "Rows to skip" }),
  meta: metaParameter(long),
}

type Asked = { [Name in keyof typeof shared]?: z.output<(typeof shared)[Name]> }

type AskedQuestion = Question & { isByCohort: boolean }

export function metrics(sources: readonly Source[]): Routes {
  const families = sources.map(({ family }) => family)
  // The schema of a value depends on the family of the question.
  const filters: Parameters = Object.fromEntries(
    dimensionNames(families).map((name) => [name, filter.describe(descriptionOf(name, families))]),
  )
  const endpoint: Endpoint = {
    surface: "admin",
    method: "GET",
    summary: "Counts and adds up exactly, by day, week, month and other dimensions",
    permission: undefined,
    scope: undefined,
    shape: "metrics",
    exampleQuery: "?measure=signups,accounts&by=month&since=2026-01-01&until=2026-05-31&limit=2",
    families: sources,
    filters,
    parameters: { ...shared, ...filters },
    required: ["measure", "since", "until"],
    data: rowSchema(families),
    meta: z.object({
      definitions: z
        .record(z.string(), z.string())
        .describe("The meaning and the unit of each measure of the question"),
      asOf: z.string().meta({ format: "date-time", description: "The time of the snapshot that was read" }),
    }),
    recipes: {},
  }
  return routes(endpoint, async (call) => {
    const asked = parseParameters(call.url.search, endpoint.parameters) as Asked
    const { format, checkPermission, reader } = readingOf(call)
    if (format) refusePaging(call.url.search, format)
    const question = questionOf(asked, sources, checkPermission)
    const sort = sortOf(asked, question)
    if (!format) {
      const page = await call.withinDeadline(() => pageOf(question, sort, asked))
      call.draft.rows = page.data.length
      return listEnvelope(shortened(page, call.url, long))
    }
    const { rows } = await call.withinDeadline(() => rowsOf(question, sort))
    const data = rows.map(bodyOf)
    const columns = new Set(["id", ...data.flatMap((row) => Object.keys(row))])
    return openStream(reader, format, {
      columns: [...columns],
      all: async () => data,
      rowOf: (row) => row as Record<string, unknown>,
    })
  })
}

async function pageOf(question: AskedQuestion, sort: Sort, asked: Asked) {
  const { limit = limitBounds.default, offset = 0 } = asked
  const { rows, total, asOf } = await rowsOf(question, sort, offset + limit)
  const definitions = question.measures.map((name) => {
    const { definition, unit } = measureOf(question.family, name)
    return [name, `${definition} (${unit})`]
  })
  return {
    data: rows.slice(offset, offset + limit).map(bodyOf),
    meta: { total, limit, offset, definitions: Object.fromEntries(definitions), asOf },
  }
}

async function rowsOf(question: AskedQuestion, sort: Sort, first?: number) {
  const isFirst = first !== undefined && question.measures.includes(sort.name)
  const wanted = isFirst ? { first: { measure: sort.name, order: sort.order, rows: first } } : {}
  const found = await ask({ ...question, ...wanted }).catch((error) => {
    if (error instanceof QuestionError) refuseAs("bad_request", ours(error.message))
    throw error
  })
  const rows = question.isByCohort ? found.rows.flatMap((row) => sinceSignUp(row, question.since)) : found.rows
  const total = question.isByCohort ? rows.length : found.total
  return { rows: sorted(rows, sort, question), total, asOf: found.asOf }
}

const filter = z.string().regex(/^[\w.:/@+-]{1,254}$/, "must be one value: 1 to 254 letters, digits and . : / @ + _ -")

function dimensionNames(families: readonly Family[]): string[] {
  return [...new Set(families.flatMap(({ dimensions }) => Object.keys(dimensions)))]
}

function descriptionOf(dimension: string, families: readonly Family[]): string {
  const described = families.flatMap(({ name, dimensions }) => {
    const description = dimensions[dimension]?.description
    return description ? [{ name, description }] : []
  })
  const texts = new Set(described.map(({ description }) => description))
  if (texts.size === 1) return [...texts].join()
  return described.map(({ name, description }) => `${name}: ${description}`).join("; ")
}

function rowSchema(families: readonly Family[]) {
  const measures = families.flatMap(({ measures }) => Object.entries(measures))
  const dimensions = dimensionNames(families).map((name) => {
    const schema = families.some(({ dimensions }) => dimensions[name]?.untrusted) ? untrustedText : z.string()
    return [name, schema.nullable().optional().describe(descriptionOf(name, families))] as const
  })
  return z.object({
    id: untrustedText.describe(
      "The start of the period and the dimensions, joined by spaces; untrusted if one of them is",
    ),
    createdAt: z
      .string()
      .optional()
      .meta({ format: "date-time", description: "The start of the period (UTC), if the question has a unit of time" }),
    monthsSinceSignUp: z.int().min(0).optional().describe("With cohort=month: 0 for the month of sign-up"),
    ...Object.fromEntries(dimensions),
    ...Object.fromEntries(
      measures.map(([name, { definition, unit }]) => [
        name,
        z.number().nullable().optional().describe(`${definition} (${unit})`),
      ]),
    ),
  })
}

/** @throws Refusal 400 that states the possible questions; 403 without the permission */
function questionOf(asked: Asked, sources: readonly Source[], checkPermission: PermissionCheck): AskedQuestion {
  const { measure, by: given = [], since, until, ...rest } = asked
  if (!measure) return refuseAs("bad_request", said`measure is required: ${ours(vocabulary(sources))}.`)
  if (!since || !until) return refuseAs("bad_request", said`since and until are required.`)
  if (since > until) refuseAs("bad_request", said`since must not be later than until.`)
  const source = sources.find(({ family }) => measure.some((name) => Object.hasOwn(family.measures, name)))
  const unknown = measure.find((name) => !source || !Object.hasOwn(source.family.measures, name))
  if (!source || unknown) {
    return refuseAs(
      "bad_request",
      said`measure must be one or more measures of one family: ${ours(vocabulary(sources))}.`,
    )
  }
  const { family, permission } = source
  checkPermission(permission)
  for (const name of measure) {
    const { permission: more } = measureOf(family, name)
    if (more) checkPermission(more)
  }
  const filters = new Map(Object.entries(rest).filter(([name]) => !Object.hasOwn(shared, name)))
  const isByCohort = filters.get(cohort.name) === cohort.each
  if (isByCohort) filters.delete(cohort.name)
  const by = isByCohort ? [...new Set([...given, cohort.name, "month"])] : given
  const [unit, ...more] = by.filter((name): name is StatsInterval => units.includes(name))
  const dimensions = by.filter((name) => !units.includes(name))
  const possible = dimensionsOf(family, measure)
  const splits = possible.filter((name) => !family.dimensions[name]?.operator)
  if (more.length > 0 || by.length > maxDimensions || dimensions.some((name) => !splits.includes(name))) {
    refuseAs(
      "bad_request",
      said`by must be at most ${maxDimensions} dimensions of ${ours(measure.join(" and "))}: one of ${ours([units.join(", "), ...(splits.length > 0 ? [splits.join(", ")] : [])].join("; "))}.`,
    )
  }
  if (unit && periodsOf(since.getTime(), until.getTime(), unit).length > maxStatsPeriods) {
    refuseAs(
      "bad_request",
      said`The range has more than ${maxStatsPeriods} periods. Shorten the range or choose a longer unit.`,
    )
  }
  const where = whereOf(filters, family, measure, possible)
  for (const name of [...dimensions, ...Object.keys(where)]) {
    const more = family.dimensions[name]?.permission
    if (more) checkPermission(more)
  }
  const range = { since: since.getTime(), until: until.getTime() }
  return { family, measures: measure, by: dimensions, unit, where, ...range, isByCohort }
}

function whereOf(
  filters: ReadonlyMap<string, unknown>,
  { dimensions }: Family,
  measure: readonly string[],
  possible: readonly string[],
): Record<string, unknown> {
  return Object.fromEntries(
    [...filters].map(([name, text]) => {
      const dimension = possible.includes(name) ? dimensions[name] : undefined
      if (!dimension) {
        return refuseAs(
          "bad_request",
          said`${ours(measure.join(" and "))} cannot be filtered by ${name}. Possible: ${ours(possible.join(", ") || "nothing")}.`,
        )
      }
      return [name, parseValue(name, String(text), dimension.schema)]
    }),
  )
}

function vocabulary(sources: readonly Source[]): string {
  return sources.map(({ family }) => `${family.name} (${Object.keys(family.measures).join(", ")})`).join("; ")
}

type Sort = { name: string; order: "asc" | "desc" }

/** @throws Refusal 400 if the question has no such measure or dimension */
function sortOf({ sort, order }: Asked, { measures, by, unit, isByCohort }: AskedQuestion): Sort {
  const time = unit ? [unit] : []
  const possible = isByCohort ? [...by, ...time, ...measures] : [...time, ...by, ...measures]
  const name = sort ?? possible[0] ?? ""
  if (!possible.includes(name)) refuseAs("bad_request", said`sort must be one of ${ours(possible.join(", "))}.`)
  return { name, order: order ?? (measures.includes(name) ? "desc" : "asc") }
}

function sorted<Sorted extends Row>(rows: readonly Sorted[], { name, order }: Sort, { measures, unit }: Question) {
  const direction = order === "asc" ? 1 : -1
  const isMeasure = measures.includes(name)
  const sortValue = (row: Row) => (name === unit ? row.start : isMeasure ? row.measures[name] : row.dimensions[name])
  return rows.toSorted(
    (one, other) => direction * compare(sortValue(one), sortValue(other)) || compareDimensions(one, other),
  )
}

function compareDimensions(one: Row, other: Row): number {
  for (const name in one.dimensions) {
    const order = compare(one.dimensions[name], other.dimensions[name])
    if (order !== 0) return order
  }
  return compare(one.start, other.start)
}

/** Text by code point; a missing value comes first. */
function compare(one: string | number | null | undefined, other: string | number | null | undefined): number {
  if (one === other) return 0
  if (one === null || one === undefined) return -1
  if (other === null || other === undefined) return 1
  return one < other ? -1 : 1
}

type CohortRow = Row & { monthsSinceSignUp?: number }

function sinceSignUp(row: Row, since: number): CohortRow[] {
  const signedUp = new Date(`${row.dimensions[cohort.name]}-01T00:00:00Z`)
  const monthsSinceSignUp = monthOf(new Date(row.start ?? 0)) - monthOf(signedUp)
  return monthOf(signedUp) < monthOf(new Date(since)) || monthsSinceSignUp < 0 ? [] : [{ ...row, monthsSinceSignUp }]
}

function monthOf(time: Date): number {
  return 12 * time.getUTCFullYear() + time.getUTCMonth()
}

function bodyOf({ start, dimensions, measures, monthsSinceSignUp }: CohortRow) {
  const createdAt = start === undefined ? undefined : new Date(start)
  const period = createdAt ? [createdAt.toISOString().slice(0, 10)] : []
  const id = [...period, ...Object.values(dimensions).map((value) => value ?? "none")].join(" ") || "all"
  const months = monthsSinceSignUp === undefined ? {} : { monthsSinceSignUp }
  return { id, ...(createdAt && { createdAt }), ...months, ...dimensions, ...measures }
}
