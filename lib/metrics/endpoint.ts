import { z } from "zod"
import { type Caller, requirePermission } from "../api/authenticate"
import { type Endpoint, type Routes, routes } from "../api/endpoint"
import { listEnvelope } from "../api/envelope"
import { refuseAs } from "../api/errors"
import { limitBounds, type Parameters, sharedParameters } from "../api/parameters"
import { parseParameters, parseValue } from "../api/query"
import type { Permission } from "../permissions"
import { maxStatsPeriods, periodsOf, type StatsInterval, statsInterval } from "../stats/periods"
import { ask, dimensionsOf, measureOf, type Question, type Row } from "./ask"
import type { Family } from "./family"

/** A family, and the permission that its endpoint requires. */
export type Source = { permission: Permission; family: Family }

/** A unit of time included. */
const maxDimensions = 3

const units: readonly string[] = statsInterval.options

const names = z
  .string()
  .regex(/^[A-Za-z]{1,40}(,[A-Za-z]{1,40}){0,19}$/, "must be names, separated by commas")
  .transform((text) => [...new Set(text.split(","))])

const shared = {
  measure: names.describe("Required: one or more measures of one family, separated by commas"),
  by: names.describe(`At most ${maxDimensions} of ${units.join(", ")} and the dimensions of the family`),
  since: sharedParameters.since.describe("Required: the start of the range, as in lists"),
  until: sharedParameters.until.describe("Required: the end of the range, as in lists"),
  sort: z
    .string()
    .regex(/^[A-Za-z]{1,40}$/, "must be a name")
    .describe("A measure or dimension of the question; by default the unit of time"),
  order: z.enum(["asc", "desc"]).describe("By default desc for a measure, and asc otherwise"),
  limit: sharedParameters.limit,
  offset: sharedParameters.offset,
}

type Asked = { [Name in keyof typeof shared]?: z.output<(typeof shared)[Name]> }

/** The endpoint that answers questions about all families. */
export function metrics(sources: readonly Source[]): Routes {
  const families = sources.map(({ family }) => family)
  const filters = filtersOf(families)
  const endpoint: Endpoint = {
    surface: "admin",
    method: "GET",
    summary: "Counts and adds up exactly, by day, week, month and other dimensions",
    permission: undefined,
    scope: undefined,
    shape: "answer",
    exampleQuery: "?measure=signups,accounts&by=month&since=2026-01-01&until=2026-05-31&limit=2",
    filters,
    parameters: { ...shared, ...filters },
    data: rowSchema(families),
    meta: z.object({
      definitions: z.record(z.string(), z.string()).describe("What each measure means"),
      asOf: z.string().meta({ format: "date-time", description: "When the answer was true" }),
    }),
    recipes: {},
  }
  return routes(endpoint, async (request, caller, withinDeadline, draft) => {
    const asked = parseParameters(new URL(request.url).search, endpoint.parameters) as Asked
    const question = questionOf(asked, sources, caller)
    const { limit = limitBounds.default, offset = 0 } = asked
    const { rows, asOf } = await withinDeadline(ask(question))
    const data = sorted(rows, asked, question).slice(offset, offset + limit)
    draft.rows = data.length
    const definitions = question.measures.map((name) => [name, measureOf(question.family, name).definition])
    return listEnvelope({
      data: data.map(bodyOf),
      meta: { total: rows.length, limit, offset, definitions: Object.fromEntries(definitions), asOf },
    })
  })
}

const filter = z.string().regex(/^[\w.:/-]{1,200}$/, "must be 1 to 200 letters, digits and . : / _ -")

/** The filters of all families. What a value must be depends on the family of the question. */
function filtersOf(families: readonly Family[]): Parameters {
  const described = families.flatMap(({ dimensions }) => Object.entries(dimensions))
  return Object.fromEntries(described.map(([name, { description }]) => [name, filter.describe(description)]))
}

function rowSchema(families: readonly Family[]) {
  const dimensions = families.flatMap(({ dimensions }) => Object.entries(dimensions))
  const measures = families.flatMap(({ measures }) => Object.entries(measures))
  const untrusted = dimensions.some(([, dimension]) => dimension.untrusted)
  return z.object({
    id: z.string().meta({
      description: "The dimensions of the row, joined by spaces",
      ...(untrusted && { "x-untrusted": true }),
    }),
    createdAt: z.string().meta({ format: "date-time", description: "The start of the period (UTC)" }).optional(),
    ...Object.fromEntries(
      dimensions.map(([name, { description, untrusted }]) => [
        name,
        z
          .string()
          .nullable()
          .optional()
          .meta({ description, ...(untrusted && { "x-untrusted": true }) }),
      ]),
    ),
    ...Object.fromEntries(
      measures.map(([name, { definition, unit }]) => [
        name,
        z.number().nullable().optional().describe(`${definition} (${unit})`),
      ]),
    ),
  })
}

/** @throws Refusal 400 for what cannot be asked, with what can; 403 without the permission */
function questionOf(asked: Asked, sources: readonly Source[], caller: Caller): Question {
  const { measure, by = [], since, until, ...rest } = asked
  if (!measure) return refuseAs("bad_request", `measure is required: ${vocabulary(sources)}.`)
  if (!since || !until) return refuseAs("bad_request", "since and until are required.")
  if (since > until) refuseAs("bad_request", "since must not be later than until.")
  const source = sources.find(({ family }) => measure.some((name) => Object.hasOwn(family.measures, name)))
  const unknown = measure.find((name) => !source || !Object.hasOwn(source.family.measures, name))
  if (!source || unknown) {
    return refuseAs("bad_request", `measure must be one or more measures of one family: ${vocabulary(sources)}.`)
  }
  const { family, permission } = source
  requirePermission(caller, permission)
  const [unit, ...more] = by.filter((name): name is StatsInterval => units.includes(name))
  const dimensions = by.filter((name) => !units.includes(name))
  const possible = dimensionsOf(family, measure)
  const splits = possible.filter((name) => !family.dimensions[name]?.operator)
  if (more.length > 0 || by.length > maxDimensions || dimensions.some((name) => !splits.includes(name))) {
    refuseAs(
      "bad_request",
      `by must be at most ${maxDimensions} of: one of ${units.join(", ")}${splits.length > 0 ? `; ${splits.join(", ")}` : ""}. That is what ${measure.join(" and ")} can be split by.`,
    )
  }
  if (unit && periodsOf(since.getTime(), until.getTime(), unit).length > maxStatsPeriods) {
    refuseAs(
      "bad_request",
      `The range has more than ${maxStatsPeriods} periods. Shorten the range or choose a longer unit.`,
    )
  }
  const where = whereOf(rest, family, measure, possible)
  for (const name of [...dimensions, ...Object.keys(where)]) {
    const more = family.dimensions[name]?.permission
    if (more) requirePermission(caller, more)
  }
  return { family, measures: measure, by: dimensions, unit, where, since: since.getTime(), until: until.getTime() }
}

function whereOf(rest: object, { dimensions }: Family, measure: readonly string[], possible: readonly string[]) {
  const filters = Object.entries(rest).filter(([name]) => !Object.hasOwn(shared, name))
  return Object.fromEntries(
    filters.map(([name, text]) => {
      const dimension = possible.includes(name) ? dimensions[name] : undefined
      if (!dimension) {
        return refuseAs(
          "bad_request",
          `${measure.join(" and ")} cannot be filtered by ${name}. Possible: ${possible.join(", ") || "nothing"}.`,
        )
      }
      return [name, parseValue(name, String(text), dimension.schema)]
    }),
  )
}

/** All measures, by family. */
function vocabulary(sources: readonly Source[]): string {
  return sources.map(({ family }) => `${family.name} (${Object.keys(family.measures).join(", ")})`).join("; ")
}

function sorted(rows: readonly Row[], { sort, order }: Asked, { measures, by, unit }: Question): Row[] {
  const possible = [...(unit ? [unit] : []), ...by, ...measures]
  if (sort !== undefined && !possible.includes(sort)) {
    refuseAs("bad_request", `sort must be one of ${possible.join(", ")}.`)
  }
  const first = sort ?? possible[0]
  const isMeasure = measures.includes(String(first))
  const direction = (order ?? (isMeasure ? "desc" : "asc")) === "asc" ? 1 : -1
  const sortValue = (row: Row) =>
    first === unit ? row.start : isMeasure ? row.measures[String(first)] : row.dimensions[String(first)]
  return [...rows].sort(
    (one, other) => direction * compare(sortValue(one), sortValue(other)) || compare(idOf(one), idOf(other)),
  )
}

/** Numbers by size and text by code point; what is missing comes first. */
function compare(one: string | number | null | undefined, other: string | number | null | undefined): number {
  if (one === other) return 0
  if (one === null || one === undefined) return -1
  if (other === null || other === undefined) return 1
  return one < other ? -1 : 1
}

function idOf({ start, dimensions }: Row): string {
  const period = start === undefined ? [] : [new Date(start).toISOString().slice(0, 10)]
  return [...period, ...Object.values(dimensions).map((value) => value ?? "none")].join(" ") || "all"
}

function bodyOf(row: Row) {
  const { start, dimensions, measures } = row
  const createdAt = start === undefined ? {} : { createdAt: new Date(start) }
  return { id: idOf(row), ...createdAt, ...dimensions, ...measures }
}
