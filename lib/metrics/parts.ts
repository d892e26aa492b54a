import { counted } from "@/lib/platform/postgres/daily-sums"
import type { Bind } from "@/lib/platform/postgres/page"
import type { Fact } from "./family"
import type { Period } from "./periods"
import { factName, factOf, type Question, QuestionError, type Use } from "./question"

// The SQL that answers a question: sums of whole days where there are any, and rows for what they do not cover.

/**
 * The most that a question may read. `rows` counts single rows, read where daily sums are too coarse: 250,000 take about
 * 0.2 s. `groups` counts groups before paging.
 */
export const bounds = { rows: 250_000, groups: 20_000 }

/** A part of what is read of a fact. */
export type Part = {
  /** What the groups of the fact are found under. */
  fact: string
  /** Sums by period and keys: the columns `period`, `k0` for the first key and so on, `n` and `amount`. */
  sum: (bind: Bind) => string
  /** Counts the rows that `sum` reads, up to one more than it may. */
  countRows?: (bind: Bind) => string
}

/** What is read of a fact. Times are in milliseconds. */
type Reading = {
  question: Question
  use: Use
  fact: Fact
  /** The values of a group; null for those that the fact does not have. */
  keys: readonly string[]
  /** Dimensions that the fact must have: those that it is split and filtered by. */
  required: readonly string[]
  /** The start of each period. */
  starts: readonly Date[]
}

const day = 86_400_000

/** @throws QuestionError if neither sums nor rows have the dimensions, or the range is finer than the rows */
export function partsOf(
  use: Use,
  question: Question,
  keys: readonly string[],
  periods: readonly Period[],
): readonly Part[] {
  const { family, where, by, since, until } = question
  const fact = factOf(family, use.fact)
  const { series, days, rows } = fact
  // Only a currency that the question does not name can be missing.
  const splits = keys.filter((name) => by.includes(name) || Object.hasOwn(rows.dimensions, name))
  const required = [...splits, ...Object.keys(where)]
  const starts = periods.map(({ from }) => new Date(from))
  const reading: Reading = { question, use, fact, keys, required, starts }
  if (series && !use.column && hasAll(series.dimensions, required)) return fromSumsAndRows(reading, series)

  if (!hasAll(rows.dimensions, required) || use.isCumulative) refuseDimensions(reading)
  const hasWholeDays = since % day === 0 && (until + 1) % day === 0
  return days && hasWholeDays && required.length === 0
    ? [fromFirstDays(reading, days)]
    : fromRows(reading, since, until + 1)
}

/** Reads whole days from sums, and what the range has of other days from rows. */
function fromSumsAndRows(reading: Reading, series: Series): Part[] {
  const { since, until } = reading.question
  const midnight = Math.floor(since / day) * day
  const before = reading.use.isCumulative
    ? [fromSums(reading, series, undefined, midnight), ...fromRows(reading, midnight, since, true)]
    : []
  const [firstDay, afterLast] = [Math.ceil(since / day) * day, Math.floor((until + 1) / day) * day]
  if (firstDay >= afterLast) return [...before, ...fromRows(reading, since, until + 1)]
  return [
    ...before,
    ...fromRows(reading, since, firstDay),
    fromSums(reading, series, firstDay, afterLast),
    ...fromRows(reading, afterLast, until + 1),
  ]
}

/** Reads rows from a time, included, to another, excluded. */
function fromRows(reading: Reading, from: number, to: number, isBefore = false): Part[] {
  if (from >= to) return []
  const { fact, use, keys, required, starts, question } = reading
  const { family, where, measures } = question
  const { at, stepMs = 1, dimensions, n: each = 1, amount: amounts = 0, from: tables } = fact.rows
  if (from % stepMs !== 0 || to % stepMs !== 0 || !hasAll(dimensions, required)) {
    throw new QuestionError(
      `${measures.join(" and ")} can be counted in whole days (UTC) only, such as since=2026-01-01&until=2026-01-31.`,
    )
  }
  const [n, amount] = use.column ? [`count(DISTINCT ${use.column})`, "0"] : [`sum(${each})`, `sum(${amounts})`]
  const source = (names: readonly string[], bind: Bind) => {
    const times = [`${at} >= ${bind(new Date(from))}`, `${at} < ${bind(new Date(to))}`]
    return `FROM ${tables} WHERE ${[...times, ...filtersOf(question, dimensions, names, bind)].join(" AND ")}`
  }
  const names = Object.keys(where)
  const indexed = names.filter((name) => family.dimensions[name]?.isIndexed)
  return [
    {
      fact: factName(use.fact, use.column),
      sum: (bind) => `
        SELECT ${isBefore ? "0" : periodOf(at, starts, "timestamptz", bind)} AS period, ${columnsOf(keys, dimensions)}
               ${n} AS n, ${amount} AS amount
        ${source(names, bind)} ${groupBy(keys)}`,
      countRows: (bind) => `(SELECT count(*) FROM (SELECT ${source(indexed, bind)} LIMIT ${bounds.rows + 1}) r)`,
    },
  ]
}

/** Reads each account's first day in a period. */
function fromFirstDays({ question, use, keys, starts }: Reading, series: string): Part {
  const dates = starts.map(dateOf)
  return {
    fact: factName(use.fact, use.column),
    sum: (bind) => `
      SELECT period, ${columnsOf(keys, {})} sum(n) AS n, 0 AS amount
      FROM (
        SELECT width_bucket(day, ${bind(dates)}::date[]) AS period, label, n FROM ${counted} c
        WHERE series = '${series}' AND day >= ${bind(dates[0])}::date
          AND day <= ${bind(dateOf(new Date(question.until)))}::date
      ) units
      WHERE label < (${bind(dates)}::text[])[period] ${groupBy(keys)}`,
  }
}

/** Reads sums of days, from one, included, or from the first there is, to another, excluded. */
function fromSums(
  { question, use, keys, starts }: Reading,
  { name, dimensions, condition = "true", amount = "amount" }: Series,
  from: number | undefined,
  to: number,
): Part {
  return {
    fact: factName(use.fact, use.column),
    sum: (bind) => `
      SELECT ${from === undefined ? "0" : periodOf("day", starts.map(dateOf), "date", bind)} AS period,
             ${columnsOf(keys, dimensions)} sum(n) AS n, sum(${amount}) AS amount
      FROM ${counted} c
      WHERE ${[
        `series = '${name}'`,
        condition,
        ...(from === undefined ? [] : [`day >= ${bind(dateOf(new Date(from)))}::date`]),
        `day < ${bind(dateOf(new Date(to)))}::date`,
        ...filtersOf(question, dimensions, Object.keys(question.where), bind),
      ].join(" AND ")}
      ${groupBy(keys)}`,
  }
}

type Columns = Readonly<Record<string, string>>
type Series = NonNullable<Fact["series"]>

function filtersOf({ family, where }: Question, columns: Columns, names: readonly string[], bind: Bind): string[] {
  return names.map((name) => `${columns[name]} ${family.dimensions[name]?.operator ?? "="} ${bind(where[name])}`)
}

function hasAll(columns: Columns, names: readonly string[]): boolean {
  return names.every((name) => Object.hasOwn(columns, name))
}

/** The number of the period of a time, from 1. */
function periodOf(time: string, starts: readonly unknown[], type: string, bind: Bind): string {
  return starts.length === 1 ? "1" : `width_bucket(${time}, ${bind(starts)}::${type}[])`
}

function columnsOf(keys: readonly string[], columns: Columns): string {
  return keys.map((name, index) => `${columns[name] ?? "NULL::text"} AS k${index}, `).join("")
}

/** By the period and each key. */
function groupBy(keys: readonly string[]): string {
  return `GROUP BY ${["period", ...keys].map((_, index) => index + 1).join(", ")}`
}

/** In PostgreSQL's format, in which the year 10000, where the latest ranges end, has no sign. */
function dateOf(time: Date): string {
  return time.toISOString().replace(/T.*/, "").replace(/^\+0/, "")
}

function refuseDimensions({ question, required }: Reading): never {
  throw new QuestionError(
    `${question.measures.join(" and ")} cannot be split and filtered by ${required.join(" and ")} together: leave out one of them.`,
  )
}
