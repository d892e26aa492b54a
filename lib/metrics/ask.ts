import { counted } from "../postgres/daily-sums"
import type { Bind } from "../postgres/page"
import { pool } from "../postgres/pool"
import { type Period, periodsOf, type StatsInterval } from "../stats/periods"
import type { Fact, Family, Measure, Operand } from "./family"

/** A question that is not possible, or too wide; the message says what is. */
export class QuestionError extends Error {}

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
  /** The rows that matter: those with the most or the least of a measure. Others are returned too if that is no more work. */
  first?: { measure: string; order: "asc" | "desc"; rows: number }
}

/**
 * `start` is that of the period, if the question has a unit. If some measures are split by currency and others cannot be,
 * each has rows of its own: the others are in those whose currency is null.
 */
export type Row = {
  start: number | undefined
  dimensions: Readonly<Record<string, string | null>>
  measures: Readonly<Record<string, number | null>>
}

/** `total` also counts rows that do not matter and were not returned. */
type Found = { rows: Row[]; total: number; asOf: Date }

/** Rows that a question may read where sums are too coarse: they take about a fifth of a second. */
const maxRows = 250_000
/** Groups that are read, of which a page is returned. */
const maxGroups = 20_000
/** Groups times periods. */
const maxCells = 100_000

const day = 86_400_000

/**
 * Answers a question exactly, from one snapshot.
 * @throws QuestionError
 */
export async function ask(question: Question): Promise<Found> {
  const { family, by, unit, since, until } = question
  const periods = unit ? periodsOf(since, until, unit) : [{ start: since, from: since, to: until }]
  const measures = question.measures.map((name) => [name, measureOf(family, name)] as const)
  const hasMoney = measures.some(([, { unit }]) => unit === "cents")
  const keys = hasMoney && !by.includes("currency") ? [...by, "currency"] : [...by]

  const uses = usesOf(measures.map(([, measure]) => measure))
  const parts = uses.flatMap((use) => partsOf(use, question, keys, periods))
  await refuseIfTooWide(parts)
  const groups = await read<Group>(
    (bind) =>
      `SELECT now() AS "asOf", facts.* FROM (SELECT) one LEFT JOIN (${groupsOf(parts, question, bind)}) facts ON true`,
  )
  if (groups.length > maxGroups) refuseRows(maxGroups)
  const [first] = groups
  if (!first) throw new Error("The statement returns at least one row.")
  const rows = rowsOf(groups, question, keys, periods, measures)
  return { rows, total: first.groups === null ? rows.length : Number(first.groups), asOf: first.asOf }
}

function refuseRows(max: number): never {
  throw new QuestionError(
    `The result has more than ${max} rows. Choose fewer dimensions, a longer unit of time or a shorter range; without a unit of time, a question that is sorted by its measure can return the first rows.`,
  )
}

/** SQL of all groups, or of the first ones by a measure if that one alone decides which they are. */
function groupsOf(parts: readonly Part[], { family, measures, unit, first }: Question, bind: Bind): string {
  const all = parts.map(({ sum }) => sum(bind)).join(" UNION ALL ")
  const sums = measures.flatMap((name) => {
    const measure = measureOf(family, name)
    return "sum" in measure && !measure.less ? [{ name, of: measure.of }] : []
  })
  const sorted = sums.find(({ name }) => name === first?.measure)
  const isEnough = first && sorted && !unit && parts.length === 1 && sums.length === measures.length
  if (!isEnough || first.rows > maxGroups) {
    return `SELECT NULL AS groups, parts.* FROM (${all}) parts LIMIT ${maxGroups + 1}`
  }
  const isSome = sums.map(({ of }) => `${of} <> '0'`).join(" OR ")
  return `
    SELECT count(*) OVER () AS groups, parts.* FROM (${all}) parts WHERE ${isSome}
    ORDER BY ${sorted.of}::numeric ${first.order}, array_to_string(keys, ' ', 'none') COLLATE "C" LIMIT ${bind(first.rows)}`
}

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
  const { family, where, by, since, until } = question
  const { series, days, rows } = factOf(family, use.fact)
  // Of the dimensions, only a currency that the question does not name can be missing.
  const splits = keys.filter((name) => by.includes(name) || Object.hasOwn(rows.dimensions, name))
  const asked = [...splits, ...Object.keys(where)]
  const isSummed = series && !use.column && hasAll(series.dimensions, asked)
  const name = `'${factName(use.fact, use.column)}' AS fact`
  const starts = periods.map(({ from }) => new Date(from))

  function filters(columns: Columns, names: readonly string[], bind: Bind): string[] {
    return names.map((name) => `${columns[name]} ${family.dimensions[name]?.operator ?? "="} ${bind(where[name])}`)
  }

  /** Reads rows from a time, included, to another, excluded. */
  function fromRows(from: number, to: number, isBefore = false): Part[] {
    if (from >= to) return []
    const { stepMs = 1 } = rows
    if (from % stepMs !== 0 || to % stepMs !== 0 || !hasAll(rows.dimensions, asked)) {
      throw new QuestionError(
        `${question.measures.join(" and ")} can be counted in whole days (UTC) only, such as since=2026-01-01&until=2026-01-31.`,
      )
    }
    const [n, amount] = use.column
      ? [`count(DISTINCT ${use.column})`, "0"]
      : [`sum(${rows.n ?? 1})`, `sum(${rows.amount ?? 0})`]
    const source = (names: readonly string[], bind: Bind) => {
      const times = [`${rows.at} >= ${bind(new Date(from))}`, `${rows.at} < ${bind(new Date(to))}`]
      return `FROM ${rows.from} WHERE ${[...times, ...filters(rows.dimensions, names, bind)].join(" AND ")}`
    }
    const names = Object.keys(where)
    const indexed = names.filter((name) => family.dimensions[name]?.isIndexed)
    return [
      {
        sum: (bind) => `
          SELECT ${name}, ${isBefore ? "0" : `width_bucket(${rows.at}, ${bind(starts)}::timestamptz[])`} AS period,
                 ${split(keys, rows.dimensions)} AS keys, ${n}::text AS n, ${amount}::text AS amount
          ${source(names, bind)} GROUP BY 2, 3`,
        rows: (bind) => `(SELECT count(*) FROM (SELECT ${source(indexed, bind)} LIMIT ${maxRows + 1}) r)`,
      },
    ]
  }

  if (!isSummed) {
    if (!hasAll(rows.dimensions, asked) || use.sinceEver) refuseDimensions(question, asked)
    const hasWholeDays = since % day === 0 && (until + 1) % day === 0
    return days && hasWholeDays && asked.length === 0 ? [fromDays(days)] : fromRows(since, until + 1)
  }

  /** Reads each account's first day in a period. */
  function fromDays(seriesName: string): Part {
    const dates = starts.map(dateOf)
    return {
      sum: (bind) => `
        SELECT ${name}, period, ${split(keys, {})} AS keys, sum(n)::text AS n, '0' AS amount
        FROM (
          SELECT width_bucket(day, ${bind(dates)}::date[]) AS period, label, n FROM ${counted} c
          WHERE series = '${seriesName}' AND day >= ${bind(dates[0])}::date AND day <= ${bind(dateOf(new Date(until)))}::date
        ) units
        WHERE label < (${bind(dates)}::text[])[period] GROUP BY 2`,
    }
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
          ...filters(dimensions, Object.keys(where), bind),
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

function hasAll(columns: Columns, names: readonly string[]): boolean {
  return names.every((name) => Object.hasOwn(columns, name))
}

function factOf({ facts }: Family, name: string): Fact {
  return facts[name] as Fact
}

/** SQL of an array of the keys. */
function split(keys: readonly string[], columns: Columns): string {
  return `ARRAY[${keys.map((name) => `(${columns[name] ?? "NULL"})::text`).join(", ")}]::text[]`
}

/** In PostgreSQL's format, in which the year 10000, where the latest ranges end, has no sign. */
function dateOf(time: Date): string {
  return time.toISOString().replace(/T.*/, "").replace(/^\+0/, "")
}

async function read<Row extends object>(write: (bind: Bind) => string): Promise<Row[]> {
  const values: unknown[] = []
  const text = write((value) => `$${values.push(value)}`)
  return (await pool().query<Row>(text, values)).rows
}

function refuseDimensions({ measures }: Question, dimensions: readonly string[]): never {
  throw new QuestionError(
    `${measures.join(" and ")} cannot be split and filtered by ${dimensions.join(" and ")} together: leave out one of them.`,
  )
}

/** The dimensions by which all of the measures can be split and filtered. */
export function dimensionsOf(family: Family, measures: readonly string[]): string[] {
  const uses = usesOf(measures.map((name) => measureOf(family, name)))
  return Object.keys(family.dimensions).filter((name) =>
    uses.every(({ fact, column, sinceEver }) => {
      const { series, rows } = factOf(family, fact)
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
  throw new QuestionError(
    `The question has to read more than ${maxRows} rows. Ask for whole days in UTC, shorten the range, or leave out dimensions and measures that count accounts one by one.`,
  )
}

/** `groups` is the number of all groups, if these are the first ones. */
type Group = {
  asOf: Date
  groups: string | null
  fact: string
  period: number
  keys: (string | null)[]
  n: string
  amount: string
}

/** What happened in each period, and before the first. */
type Sums = { n: number[]; amount: number[] }

function rowsOf(
  groups: readonly Group[],
  { family, by, unit }: Question,
  keys: readonly string[],
  periods: readonly Period[],
  measures: readonly (readonly [string, Measure])[],
): Row[] {
  const found = new Map<string, { values: (string | null)[]; facts: Map<string, Sums> }>()
  for (const { fact, period, keys: values, n, amount } of groups) {
    if (fact === null) continue
    const name = JSON.stringify(values)
    const group = found.get(name) ?? { values, facts: new Map<string, Sums>() }
    found.set(name, group)
    // Before there is memory for all of them.
    if (found.size * periods.length > maxCells) refuseRows(maxCells)
    const series = group.facts.get(fact) ?? { n: zeros(periods), amount: zeros(periods) }
    group.facts.set(fact, series)
    series.n[period] = (series.n[period] ?? 0) + Number(n)
    series.amount[period] = (series.amount[period] ?? 0) + Number(amount)
  }
  if (keys.length === 0 && found.size === 0) found.set("", { values: [], facts: new Map() })
  const currency = keys.indexOf("currency")
  const inCurrencies = measures.filter(([, measure]) => isByCurrency(family, measure))
  const others = measures.filter(([, measure]) => !isByCurrency(family, measure))
  const rows = [...found.values()].flatMap(({ values, facts }) => {
    const own = currency < 0 ? measures : values[currency] === null ? others : inCurrencies
    const untils = new Map([...facts].map(([name, sums]) => [name, addedUp(sums)]))
    return periods.map(({ start }, index) => ({
      start: unit && start,
      dimensions: Object.fromEntries(keys.map((name, position) => [name, values[position] ?? null])),
      measures: Object.fromEntries(own.map(([name, measure]) => [name, valueIn(measure, facts, untils, index + 1)])),
    }))
  })
  // A period without anything is left out, except where periods are all that is asked for.
  return by.length === 0 ? rows : rows.filter(({ measures }) => Object.values(measures).some((value) => value))
}

function isByCurrency(family: Family, measure: Measure): boolean {
  return usesOf([measure]).every(({ fact }) => Object.hasOwn(factOf(family, fact).rows.dimensions, "currency"))
}

function zeros(periods: readonly Period[]): number[] {
  return Array.from({ length: periods.length + 1 }, () => 0)
}

/** The sums of all periods until the end of each. */
function addedUp({ n, amount }: Sums): Sums {
  const add = (values: readonly number[]) => {
    let sum = 0
    return values.map((value) => (sum += value))
  }
  return { n: add(n), amount: add(amount) }
}

/** @param untils the facts, added up */
function valueIn(
  measure: Measure,
  facts: ReadonlyMap<string, Sums>,
  untils: ReadonlyMap<string, Sums>,
  period: number,
): number | null {
  const during = (fact: string, of: "n" | "amount", column?: string) =>
    facts.get(factName(fact, column))?.[of][period] ?? 0
  const until = (fact: string, of: "n" | "amount", last: number) => untils.get(factName(fact))?.[of][last] ?? 0
  if ("sum" in measure) return during(measure.sum, measure.of) - (measure.less ? during(measure.less, measure.of) : 0)
  if ("total" in measure) return Math.round(until(measure.total, measure.of, period) / (measure.dividedBy ?? 1))
  if ("distinct" in measure) return during(measure.distinct, "n", measure.column)
  const operand = ({ fact, of, at }: Operand) => (at === "start" ? until(fact, of, period - 1) : during(fact, of))
  const [part, whole] = [operand(measure.ratio[0]), operand(measure.ratio[1])]
  if (whole === 0) return null
  return measure.unit === "cents" ? Math.round(part / whole) : part / whole / (measure.dividedBy ?? 1)
}
