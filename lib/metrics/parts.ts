import { counted } from "@/lib/platform/postgres/daily-sums"
import type { Bind } from "@/lib/platform/postgres/page"
import type { Fact } from "./family"
import type { Period } from "./periods"
import { factName, factOf, isSummable, type Question, QuestionError, type Use } from "./question"

// Sums of whole days where they exist; rows for parts of days and for dimensions that the sums lack.

/** `rows`: rows of a range without sums; 250,000 take about 0.2 s. `groups`: before paging, if there are dimensions. */
export const bounds = { rows: 250_000, groups: 20_000 }

export type Part = {
  fact: string
  /** Columns: `period`, `k0` for the first key and so on, `n` and `amount`. */
  sum: (bind: Bind) => string
  isSubtracted?: boolean
  /** For a range without sums. Stops at one row more than allowed. */
  countRows?: (bind: Bind) => string
}

/** Times are in milliseconds. */
type Reading = {
  question: Question
  use: Use
  fact: Fact
  keys: readonly string[]
  required: readonly string[]
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
  if (series && isSummable(use) && hasAll(series.dimensions, required)) return fromSumsAndRows(reading, series)

  if (!hasAll(rows.dimensions, required) || use.isCumulative) refuseDimensions(reading)
  if (days && required.length === 0) return fromDaysAndRows(reading, days, periods)
  return fromRows(reading, since, until + 1)
}

/**
 * Of a partial day the shorter part is read from rows: they are added, or subtracted if they are outside of the range.
 */
function fromSumsAndRows(reading: Reading, series: Series): Part[] {
  const [since, end] = [reading.question.since, reading.question.until + 1]
  const [first, last] = [nearestMidnight(since), nearestMidnight(end)]
  const before = reading.use.isCumulative
    ? [fromSums(reading, series, undefined, first), ...fromRows(reading, first, since, 0)]
    : []
  if (timeToRead(since, end) < timeToRead(first, since) + timeToRead(last, end)) {
    return [...before, ...fromRows(reading, since, end)]
  }
  return [
    ...before,
    ...fromRows(reading, since, first, 1),
    fromSums(reading, series, first, last),
    ...fromRows(reading, last, end, reading.starts.length),
  ]
}

function nearestMidnight(time: number): number {
  const [before, after] = [Math.floor(time / day) * day, Math.ceil(time / day) * day]
  return timeToRead(before, time) <= timeToRead(time, after) ? before : after
}

/** Future time has no rows to read. */
function timeToRead(one: number, other: number): number {
  const now = Date.now()
  return Math.abs(Math.min(one, now) - Math.min(other, now))
}

/**
 * `from` is included, `to` excluded; if `to` is earlier, the rows between are subtracted.
 * @param period replaces the period that follows from a row's time; 0 is before the range
 */
function fromRows(reading: Reading, from: number, to: number, period?: number): Part[] {
  if (from === to) return []
  const { fact, use, keys, required, starts, question } = reading
  const { at, stepMs = 1, dimensions, n: each = 1, amount: amounts = 0 } = fact.rows
  if (from % stepMs !== 0 || to % stepMs !== 0 || !hasAll(dimensions, required)) {
    throw new QuestionError(
      `${question.measures.join(" and ")} can be counted in whole days (UTC) only, such as since=2026-01-01&until=2026-01-31.`,
    )
  }
  const isSubtracted = from > to
  const [first, end] = isSubtracted ? [to, from] : [from, to]
  const sign = isSubtracted ? "-" : ""
  const [n, amount] = use.column
    ? [`count(DISTINCT ${use.column})`, "0"]
    : use.isMedian
      ? ["count(*)", `percentile_cont(0.5) WITHIN GROUP (ORDER BY ${amounts})`]
      : [`sum(${each})`, `sum(${amounts})`]
  return [
    {
      fact: factName(use),
      isSubtracted,
      sum: (bind) => `
        SELECT ${period ?? periodOf(at, starts, "timestamptz", bind)} AS period, ${columnsOf(keys, dimensions)}
               ${sign}${n} AS n, ${sign}${amount} AS amount
        FROM ${rowsIn(reading, first, end, Object.keys(question.where), bind)}
        ${groupBy(keys)}`,
      countRows: (bind) => countIn(reading, first, end, bind),
    },
  ]
}

function rowsIn({ fact, question }: Reading, from: number, to: number, names: readonly string[], bind: Bind): string {
  const { from: tables, at, dimensions } = fact.rows
  const times = [`${at} >= ${bind(new Date(from))}`, `${at} < ${bind(new Date(to))}`]
  return `${tables} WHERE ${[...times, ...filtersOf(question, dimensions, names, bind)].join(" AND ")}`
}

/** SQL of the number of rows that are read, at most one more than may be. */
function countIn(reading: Reading, from: number, to: number, bind: Bind): string {
  const { family, where } = reading.question
  const indexed = Object.keys(where).filter((name) => family.dimensions[name]?.isIndexed)
  return `(SELECT count(*) FROM (SELECT FROM ${rowsIn(reading, from, to, indexed, bind)} LIMIT ${bounds.rows + 1}) r)`
}

/** By the first day of an account in a period. Only the first and the last period can be clipped. */
function fromDaysAndRows(reading: Reading, days: Days, periods: readonly Period[]): Part[] {
  const { question, use } = reading
  const [since, end] = [question.since, question.until + 1]
  const [first, last] = [Math.floor(since / day) * day, Math.ceil(end / day) * day]
  if (timeToRead(since, end) < timeToRead(first, since) + timeToRead(last, end)) return fromRows(reading, since, end)
  const parts = periods.flatMap((period, index): Part[] => {
    const isOuter = index === 0 || index === periods.length - 1
    return isOuter ? [accountsIn(reading, days, period, index + 1)] : []
  })
  if (periods.length > 2) parts.push({ fact: factName(use), sum: accountsOfInnerPeriods(reading, days) })
  return parts
}

/** Accounts of whole days, less accounts whose rows of these days are all outside of the period. */
function accountsIn(reading: Reading, { series }: Days, { from, to }: Period, number: number): Part {
  const { use, keys } = reading
  const [first, last] = [dateOf(new Date(from)), dateOf(new Date(to))]
  const [midnight, nextMidnight] = [Math.floor(from / day) * day, Math.ceil((to + 1) / day) * day]
  const rows = (since: number, until: number, bind: Bind) => rowsIn(reading, since, until, [], bind)
  // Days are read one by one, because each has few of the units that count among many. OFFSET keeps the planner from
  // reading all rows of the period instead of looking accounts up.
  const sum = (bind: Bind) => `
    SELECT ${number} AS period, ${columnsOf(keys, {})} (
      SELECT coalesce(sum((
        SELECT sum(n) FROM daily_sums WHERE series = '${series}' AND day = midnight::date AND label < ${bind(first)})), 0)
      FROM (SELECT min(day) AS oldest, max(day) AS newest FROM daily_sums WHERE series = '${series}') summed,
        generate_series(
          greatest(${bind(first)}::date, oldest)::timestamp, least(${bind(last)}::date, newest)::timestamp, '1 day'
        ) AS midnight
    ) + (
      SELECT coalesce(sum(n), 0) FROM daily_changes
      WHERE series = '${series}' AND day >= ${bind(first)}::date AND day <= ${bind(last)}::date AND label < ${bind(first)}
    ) - (
      SELECT count(*) FROM (
        SELECT ${use.column} AS account FROM ${rows(midnight, from, bind)}
        UNION SELECT ${use.column} FROM ${rows(to + 1, nextMidnight, bind)}
      ) outside
      WHERE NOT EXISTS (SELECT FROM ${rows(from, to + 1, bind)} AND ${use.column} = outside.account OFFSET 0)
    ) AS n, 0 AS amount`
  const countRows = (bind: Bind) =>
    `${countIn(reading, midnight, from, bind)} + ${countIn(reading, to + 1, nextMidnight, bind)}`
  return { fact: factName(use), sum, countRows }
}

function accountsOfInnerPeriods({ question, keys, starts }: Reading, { series, hasPeriods }: Days): Part["sum"] {
  const dates = starts.map(dateOf)
  // The label of a whole period is empty.
  return (bind) => `
    SELECT period, ${columnsOf(keys, {})} sum(n) AS n, 0 AS amount
    FROM (
      SELECT width_bucket(day, ${bind(dates)}::date[]) AS period, label, n FROM ${counted} c
      WHERE series = '${hasPeriods ? `${series}.${question.unit}` : series}'
        AND day >= ${bind(dates[1])}::date AND day < ${bind(dates.at(-1))}::date
    ) units
    WHERE label < (${bind(dates)}::date[])[period]::text ${groupBy(keys)}`
}

function fromSums(
  { question, use, keys, starts }: Reading,
  { name, dimensions, condition = "true", amount = "amount" }: Series,
  from: number | undefined,
  to: number,
): Part {
  return {
    fact: factName(use),
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
type Days = NonNullable<Fact["days"]>

function filtersOf({ family, where }: Question, columns: Columns, names: readonly string[], bind: Bind): string[] {
  return names.map((name) => `${columns[name]} ${family.dimensions[name]?.operator ?? "="} ${bind(where[name])}`)
}

function hasAll(columns: Columns, names: readonly string[]): boolean {
  return names.every((name) => Object.hasOwn(columns, name))
}

/** Periods count from 1. */
function periodOf(time: string, starts: readonly unknown[], type: string, bind: Bind): string {
  return starts.length === 1 ? "1" : `width_bucket(${time}, ${bind(starts)}::${type}[])`
}

function columnsOf(keys: readonly string[], columns: Columns): string {
  return keys.map((name, index) => `${columns[name] ?? "NULL::text"} AS k${index}, `).join("")
}

function groupBy(keys: readonly string[]): string {
  return `GROUP BY ${["period", ...keys].map((_, index) => index + 1).join(", ")}`
}

/** PostgreSQL writes the year 10000, where the latest ranges end, without a sign. */
function dateOf(time: Date): string {
  return time.toISOString().replace(/T.*/, "").replace(/^\+0/, "")
}

function refuseDimensions({ question, use, fact: { series, rows }, required }: Reading): never {
  const choices = [isSummable(use) && series, !use.isCumulative && rows].flatMap((from) =>
    from ? Object.keys(from.dimensions).join(", ") : [],
  )
  const asked = [...new Set(required)].join(" and ")
  throw new QuestionError(
    `${question.measures.join(" and ")} cannot be split and filtered by ${asked}. Dimensions that go together: ${choices.join("; or ")}.`,
  )
}
