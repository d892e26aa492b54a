import { refuseAs } from "../api/errors"
import { counted } from "../postgres/daily-sums"
import type { Bind } from "../postgres/page"
import { pool } from "../postgres/pool"
import { type Period, periodsOf, type StatsInterval } from "../stats/periods"
import type { Fact, Family, Measure, Operand } from "./family"

/** A question about the things of one family. */
export type Question = {
  family: Family
  /** Names of measures. */
  measures: readonly string[]
  /** Names of dimensions. */
  by: readonly string[]
  unit: StatsInterval | undefined
  /** Values of dimensions. */
  where: Readonly<Record<string, unknown>>
  /** Both inclusive, in milliseconds. */
  since: number
  until: number
}

/** `start` is that of the period, if the question has a unit. */
export type Row = {
  start: number | undefined
  dimensions: Readonly<Record<string, string | null>>
  measures: Readonly<Record<string, number | null>>
}

/** Rows that a question may read where sums are too coarse: they take about a fifth of a second. */
const maxRows = 250_000
/** Groups in an answer, of which a page is returned. */
const maxGroups = 20_000

const day = 86_400_000

/**
 * Answers a question exactly, from one snapshot.
 * @throws Refusal 400 if that would take long, with what would take less
 */
export async function ask(question: Question): Promise<{ rows: Row[]; asOf: Date }> {
  const { family, unit, since, until } = question
  const periods = unit ? periodsOf(since, until, unit) : [{ start: since, from: since, to: until }]
  const measures = question.measures.map((name) => [name, measureOf(family, name)] as const)
  const hasMoney = measures.some(([, { unit }]) => unit === "cents")
  const keys = hasMoney && !question.by.includes("currency") ? [...question.by, "currency"] : [...question.by]

  const uses = usesOf(measures.map(([, measure]) => measure))
  const parts = uses.flatMap((use) => partsOf(use, question, keys, periods))
  await refuseIfTooWide(parts)
  const groups = await read<Group>((bind) => {
    const facts = parts.map(({ sum }) => sum(bind)).join(" UNION ALL ")
    return `SELECT now() AS "asOf", facts.* FROM (SELECT) one LEFT JOIN (${facts} LIMIT ${maxGroups + 1}) facts ON true`
  })
  if (groups.length > maxGroups) refuseAs("bad_request", `The answer has more than ${maxGroups} groups: ${narrower}.`)
  const [first] = groups
  if (!first) throw new Error("The statement returns at least one row.")
  return { rows: rowsOf(groups, question, keys, periods, measures), asOf: first.asOf }
}

const narrower = "choose fewer dimensions, a longer unit of time or a shorter range"

export function measureOf({ measures, name }: Family, of: string): Measure {
  const measure = Object.hasOwn(measures, of) ? measures[of] : undefined
  if (!measure) throw new Error(`The family ${name} has no measure ${of}.`)
  return measure
}

/** A fact that measures need: what happened in each period, or also what happened before the range. */
type Use = { fact: string; column?: string; sinceEver: boolean }

function usesOf(measures: readonly Measure[]): Use[] {
  const uses = new Map<string, Use>()
  const add = (fact: string, more: Partial<Use> = {}) => {
    const name = factName(fact, more.column)
    const sinceEver = Boolean(more.sinceEver || uses.get(name)?.sinceEver)
    uses.set(name, { fact, ...more, sinceEver })
  }
  for (const measure of measures) {
    if ("sum" in measure) for (const fact of [measure.sum, ...(measure.less ? [measure.less] : [])]) add(fact)
    else if ("total" in measure) add(measure.total, { sinceEver: true })
    else if ("distinct" in measure) add(measure.distinct, { column: measure.column })
    else for (const { fact, at } of measure.ratio) add(fact, { sinceEver: at === "start" })
  }
  return [...uses.values()]
}

/** What the groups of a fact are found under. */
function factName(fact: string, column = ""): string {
  return `${fact} ${column}`
}

/** SQL that sums a part of a fact by period and keys, and SQL that counts the rows that this reads. */
type Part = { sum: (bind: Bind) => string; rows?: (bind: Bind) => string }

function partsOf(use: Use, question: Question, keys: readonly string[], periods: readonly Period[]): Part[] {
  const { family, where, since, until } = question
  const { series, rows } = family.facts[use.fact] as Fact
  const asked = [...keys, ...Object.keys(where)]
  const isSummed = series && !use.column && asked.every((name) => Object.hasOwn(series.dimensions, name))
  const name = `'${factName(use.fact, use.column)}' AS fact`
  const starts = periods.map(({ from }) => new Date(from))

  function filters(columns: Columns, bind: Bind): string[] {
    return Object.entries(where).map(
      ([name, value]) => `${columns[name]} ${family.dimensions[name]?.operator ?? "="} ${bind(value)}`,
    )
  }

  /** Reads rows from a time, included, to another, excluded. */
  function fromRows(from: number, to: number, isBefore = false): Part[] {
    if (from >= to) return []
    const { stepMs = 1 } = rows
    if (from % stepMs !== 0 || to % stepMs !== 0 || !asked.every((name) => Object.hasOwn(rows.dimensions, name))) {
      refuseAs(
        "bad_request",
        `${question.measures.join(" and ")} can be counted in whole days (UTC) only, such as since=2026-01-01&until=2026-01-31.`,
      )
    }
    const [n, amount] = use.column
      ? [`count(DISTINCT ${use.column})`, "0"]
      : [`sum(${rows.n ?? 1})`, `sum(${rows.amount ?? 0})`]
    const source = (bind: Bind) => {
      const times = [`${rows.at} >= ${bind(new Date(from))}`, `${rows.at} < ${bind(new Date(to))}`]
      return `FROM ${rows.from} WHERE ${[...times, ...filters(rows.dimensions, bind)].join(" AND ")}`
    }
    return [
      {
        sum: (bind) => `
          SELECT ${name}, ${isBefore ? "0" : `width_bucket(${rows.at}, ${bind(starts)}::timestamptz[])`} AS period,
                 ${split(keys, rows.dimensions)} AS keys, ${n}::text AS n, ${amount}::text AS amount
          ${source(bind)} GROUP BY 2, 3`,
        rows: (bind) => `(SELECT count(*) FROM (SELECT ${source(bind)} LIMIT ${maxRows + 1}) r)`,
      },
    ]
  }

  if (!isSummed) {
    const isMissing = asked.some((name) => !Object.hasOwn(rows.dimensions, name))
    if (isMissing || use.sinceEver) refuseDimensions(question, asked)
    return fromRows(since, until + 1)
  }

  /** Reads sums of days, from one, included, to another, excluded. */
  function fromSums(
    { name: seriesName, dimensions, condition = "true", amount = "amount" }: Series,
    from: number | undefined,
    to: number,
  ): Part {
    return {
      sum: (bind) => `
        SELECT ${name}, ${from === undefined ? "0" : `width_bucket(day, ${bind(starts.map(dateOf))}::date[])`} AS period,
               ${split(keys, dimensions)} AS keys, sum(n)::text AS n, sum(${amount})::text AS amount
        FROM ${counted} c
        WHERE ${[
          `series = '${seriesName}'`,
          condition,
          ...(from === undefined ? [] : [`day >= ${bind(dateOf(new Date(from)))}::date`]),
          `day < ${bind(dateOf(new Date(to)))}::date`,
          ...filters(dimensions, bind),
        ].join(" AND ")}
        GROUP BY 2, 3`,
    }
  }

  const midnight = Math.floor(since / day) * day
  const before = use.sinceEver ? [fromSums(series, undefined, midnight), ...fromRows(midnight, since, true)] : []
  const [firstDay, afterLast] = [Math.ceil(since / day) * day, Math.floor((until + 1) / day) * day]
  if (firstDay >= afterLast) return [...before, ...fromRows(since, until + 1)]
  return [
    ...before,
    ...fromRows(since, firstDay),
    fromSums(series, firstDay, afterLast),
    ...fromRows(afterLast, until + 1),
  ]
}

type Columns = Readonly<Record<string, string>>
type Series = NonNullable<Fact["series"]>

/** SQL of an array of the keys. */
function split(keys: readonly string[], columns: Columns): string {
  return `ARRAY[${keys.map((name) => `(${columns[name] ?? "NULL"})::text`).join(", ")}]::text[]`
}

function dateOf(time: Date): string {
  return time.toISOString().slice(0, 10)
}

async function read<Row extends object>(write: (bind: Bind) => string): Promise<Row[]> {
  const values: unknown[] = []
  const text = write((value) => `$${values.push(value)}`)
  return (await pool().query<Row>(text, values)).rows
}

function refuseDimensions({ measures }: Question, dimensions: readonly string[]): never {
  return refuseAs(
    "bad_request",
    `${measures.join(" and ")} cannot be split and filtered by ${dimensions.join(" and ")} together: leave out one of them.`,
  )
}

/** The dimensions by which all of the measures can be split and filtered. */
export function dimensionsOf(family: Family, measures: readonly string[]): string[] {
  const uses = usesOf(measures.map((name) => measureOf(family, name)))
  return Object.keys(family.dimensions).filter((name) =>
    uses.every(({ fact, column, sinceEver }) => {
      const { series, rows } = family.facts[fact] as Fact
      const isSummed = !column && series && Object.hasOwn(series.dimensions, name)
      return isSummed || (!sinceEver && Object.hasOwn(rows.dimensions, name))
    }),
  )
}

async function refuseIfTooWide(parts: readonly Part[]): Promise<void> {
  const counts = parts.flatMap(({ rows }) => rows ?? [])
  if (counts.length === 0) return
  const [found] = await read<{ count: string }>(
    (bind) => `SELECT ${counts.map((count) => count(bind)).join(" + ")} AS count`,
  )
  if (Number(found?.count) <= maxRows) return
  refuseAs(
    "bad_request",
    `The question has to read more than ${maxRows} rows. Ask for whole days in UTC, shorten the range, or leave out dimensions and measures that count accounts one by one.`,
  )
}

type Group = { asOf: Date; fact: string; period: number; keys: (string | null)[]; n: string; amount: string }

/** What happened in each period, and before the first. */
type Sums = { n: number[]; amount: number[] }

function rowsOf(
  groups: readonly Group[],
  { by, unit }: Question,
  keys: readonly string[],
  periods: readonly Period[],
  measures: readonly (readonly [string, Measure])[],
): Row[] {
  const answers = new Map<string, { values: (string | null)[]; facts: Map<string, Sums> }>()
  for (const { fact, period, keys: values, n, amount } of groups) {
    if (fact === null) continue
    const name = JSON.stringify(values)
    const answer = answers.get(name) ?? { values, facts: new Map<string, Sums>() }
    answers.set(name, answer)
    const series = answer.facts.get(fact) ?? { n: zeros(periods), amount: zeros(periods) }
    answer.facts.set(fact, series)
    series.n[period] = (series.n[period] ?? 0) + Number(n)
    series.amount[period] = (series.amount[period] ?? 0) + Number(amount)
  }
  if (keys.length === 0 && answers.size === 0) answers.set("", { values: [], facts: new Map() })
  const rows = [...answers.values()].flatMap(({ values, facts }) =>
    periods.map(({ start }, index) => ({
      start: unit && start,
      dimensions: Object.fromEntries(keys.map((name, position) => [name, values[position] ?? null])),
      measures: Object.fromEntries(measures.map(([name, measure]) => [name, valueIn(measure, facts, index + 1)])),
    })),
  )
  // A period without anything is left out, except where periods are all that is asked for.
  return by.length === 0 ? rows : rows.filter(({ measures }) => Object.values(measures).some((value) => value))
}

function zeros(periods: readonly Period[]): number[] {
  return Array.from({ length: periods.length + 1 }, () => 0)
}

function valueIn(measure: Measure, facts: ReadonlyMap<string, Sums>, period: number): number | null {
  const series = (fact: string, column?: string) => facts.get(factName(fact, column))
  const during = (fact: string, of: "n" | "amount", column?: string) => series(fact, column)?.[of][period] ?? 0
  const until = (fact: string, of: "n" | "amount", last: number) =>
    (series(fact)?.[of] ?? []).slice(0, last + 1).reduce((sum, value) => sum + value, 0)
  if ("sum" in measure) return during(measure.sum, measure.of) - (measure.less ? during(measure.less, measure.of) : 0)
  if ("total" in measure) return Math.round(until(measure.total, measure.of, period) / (measure.dividedBy ?? 1))
  if ("distinct" in measure) return during(measure.distinct, "n", measure.column)
  const operand = ({ fact, of, at }: Operand) => (at === "start" ? until(fact, of, period - 1) : during(fact, of))
  const [part, whole] = [operand(measure.ratio[0]), operand(measure.ratio[1])]
  if (whole === 0) return null
  return measure.unit === "cents" ? Math.round(part / whole) : part / whole / (measure.dividedBy ?? 1)
}
