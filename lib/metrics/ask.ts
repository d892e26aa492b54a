import type { Bind } from "@/lib/platform/postgres/page"
import { readPool, standbyInUse } from "@/lib/platform/postgres/standbys"
import { id } from "@/lib/platform/schemas/fields"
import type { Family, Measure, Operand } from "./family"
import { bounds, type Part, partsOf } from "./parts"
import { type Period, periodsOf } from "./periods"
import { factName, factOf, measureOf, type Question, QuestionError, usesOf } from "./question"

/** If only some measures are split by currency, the others are in rows whose currency is null. */
export type Row = {
  start: number | undefined
  dimensions: Readonly<Record<string, string | null>>
  measures: Readonly<Record<string, number | null>>
}

/** `total` also counts rows that were not returned. */
type Found = { rows: Row[]; total: number; asOf: Date }

/** Groups times periods. */
const maxCells = 100_000

/** Reads one snapshot. @throws QuestionError */
export async function ask(question: Question): Promise<Found> {
  const { family, by, unit, since, until } = question
  const range = [{ start: since, from: since, to: until }]
  const periods = unit ? periodsOf(since, until, unit) : range
  const measures = question.measures.map((name) => [name, measureOf(family, name)] as const)
  const hasMoney = measures.some(([, { unit }]) => unit === "minor units")
  const keys = hasMoney && !by.includes("currency") ? [...by, "currency"] : [...by]

  const uses = usesOf(measures.map(([, measure]) => measure))
  const parts = uses.flatMap((use) => partsOf(use, question, keys, use.isOfRange ? range : periods))
  if (!question.isUnbounded) await refuseIfTooWide(parts)
  const groups = await read<Group>(
    (bind) =>
      `SELECT now() AS "asOf", facts.* FROM (SELECT) one LEFT JOIN (${groupsOf(parts, question, keys, bind)}) facts ON true`,
  )
  if (by.length > 0 && groups.length > bounds.groups) refuseRows(bounds.groups)
  const [first] = groups
  if (!first) throw new Error("The statement returns at least one row.")
  const rows = rowsOf(groups, question, keys, periods, measures)
  // On a standby, the time of the snapshot is later than its newest commit.
  const asOf = standbyInUse()?.dataAsOf() ?? first.asOf
  return { rows, total: first.groups === null ? rows.length : Number(first.groups), asOf }
}

function refuseRows(max: number): never {
  throw new QuestionError(
    `The result has more than ${max} rows. Choose fewer dimensions, a longer unit of time or a shorter range; without a unit of time, a question that is sorted by its measure can return the first rows.`,
  )
}

function groupsOf(
  parts: readonly Part[],
  { family, measures, by, unit, first }: Question,
  keys: readonly string[],
  bind: Bind,
): string {
  const columns = keys.map((_, index) => `k${index}::text`)
  // Only returned groups are converted to text: there can be a group for each of 250,000 rows.
  const group = ({ fact, isSubtracted = false }: Part) =>
    `'${fact}' AS fact, ${isSubtracted} AS "isSubtracted", period, ARRAY[${columns.join(", ")}]::text[] AS keys, n, amount`
  const sums = measures.flatMap((name) => {
    const measure = measureOf(family, name)
    return "sum" in measure && !measure.less ? [{ name, of: measure.of }] : []
  })
  const sorted = sums.find(({ name }) => name === first?.measure)
  const isEnough = first && sorted && !unit && sums.length === measures.length
  const [part, ...others] = parts
  if (!isEnough || !part || others.length > 0 || first.rows > bounds.groups) {
    const all = parts.map((one) => `SELECT ${group(one)} FROM (${one.sum(bind)}) part`)
    // Without dimensions there is one for each fact, period and currency.
    const limit = by.length > 0 ? `LIMIT ${bounds.groups + 1}` : ""
    return `SELECT NULL AS groups, parts.* FROM (${all.join(" UNION ALL ")}) parts ${limit}`
  }
  const isSome = sums.map(({ of }) => `${of} <> 0`).join(" OR ")
  // Ids sort the same as text and as UUIDs, and UUIDs sort faster.
  const isId = (name: string) => family.dimensions[name]?.schema === id
  const ties = keys.map((name, index) => `${isId(name) ? `k${index}` : `k${index}::text COLLATE "C"`} NULLS FIRST`)
  const order = [`${sorted.of} ${first.order}`, ...ties]
  return `
    SELECT groups, ${group(part)} FROM (
      SELECT count(*) OVER () AS groups, part.* FROM (${part.sum(bind)}) part WHERE ${isSome}
      ORDER BY ${order.join(", ")} LIMIT ${bind(first.rows)}
    ) first`
}

async function read<Row extends object>(write: (bind: Bind) => string): Promise<Row[]> {
  const values: unknown[] = []
  const text = write((value) => `$${values.push(value)}`)
  return (await readPool().query<Row>(text, values)).rows
}

async function refuseIfTooWide(parts: readonly Part[]): Promise<void> {
  const counts = parts.flatMap(({ countRows }) => countRows ?? [])
  if (counts.length === 0) return
  const [found] = await read<{ count: string }>(
    (bind) => `SELECT ${counts.map((count) => count(bind)).join(" + ")} AS count`,
  )
  if (Number(found?.count) <= bounds.rows) return
  throw new QuestionError(
    `The question has to read more than ${bounds.rows} rows. Ask for whole days in UTC, shorten the range, or leave out dimensions and measures that count accounts one by one.`,
  )
}

type Group = {
  asOf: Date
  groups: string | null
  fact: string
  isSubtracted: boolean
  period: number
  keys: (string | null)[]
  n: string
  amount: string
}

/** By period; element 0 is before the range. */
type Sums = { n: number[]; amount: number[] }

function rowsOf(
  groups: readonly Group[],
  { family, by, unit }: Question,
  keys: readonly string[],
  periods: readonly Period[],
  measures: readonly (readonly [string, Measure])[],
): Row[] {
  const found = new Map<string, { values: (string | null)[]; facts: Map<string, Sums> }>()
  const reduced = new Set<string>()
  for (const { fact, isSubtracted, period, keys: values, n, amount } of groups) {
    if (fact === null) continue
    const name = JSON.stringify(values)
    const group = found.get(name) ?? { values, facts: new Map<string, Sums>() }
    found.set(name, group)
    if (isSubtracted) reduced.add(name)
    // Refused before all of them take memory.
    if (by.length > 0 && found.size * periods.length > maxCells) refuseRows(maxCells)
    const series = group.facts.get(fact) ?? { n: zeros(periods), amount: zeros(periods) }
    group.facts.set(fact, series)
    series.n[period] = (series.n[period] ?? 0) + Number(n)
    series.amount[period] = (series.amount[period] ?? 0) + Number(amount)
  }
  // All of their rows are outside of the range.
  for (const name of reduced) {
    const sums = [...(found.get(name)?.facts.values() ?? [])]
    if (sums.every(({ n, amount }) => [...n, ...amount].every((value) => value === 0))) found.delete(name)
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
  // A period without a value is left out, unless the question has only periods.
  return by.length === 0 ? rows : rows.filter(({ measures }) => Object.values(measures).some((value) => value))
}

function isByCurrency(family: Family, measure: Measure): boolean {
  return usesOf([measure]).every(({ fact }) => Object.hasOwn(factOf(family, fact).rows.dimensions, "currency"))
}

function zeros(periods: readonly Period[]): number[] {
  return Array.from({ length: periods.length + 1 }, () => 0)
}

function addedUp({ n, amount }: Sums): Sums {
  const add = (values: readonly number[]) => {
    let sum = 0
    return values.map((value) => (sum += value))
  }
  return { n: add(n), amount: add(amount) }
}

function valueIn(
  measure: Measure,
  facts: ReadonlyMap<string, Sums>,
  untils: ReadonlyMap<string, Sums>,
  period: number,
): number | null {
  const during = (fact: string, of: "n" | "amount") => facts.get(factName({ fact }))?.[of][period] ?? 0
  const until = (fact: string, of: "n" | "amount", last: number) => untils.get(factName({ fact }))?.[of][last] ?? 0
  if ("sum" in measure) return during(measure.sum, measure.of) - (measure.less ? during(measure.less, measure.of) : 0)
  if ("total" in measure) return Math.round(until(measure.total, measure.of, period) / (measure.dividedBy ?? 1))
  if ("distinct" in measure) {
    const { distinct: fact, column, isOfRange } = measure
    return facts.get(factName({ fact, column, isOfRange }))?.n[isOfRange ? 1 : period] ?? 0
  }
  if ("median" in measure) {
    const { n, amount } = facts.get(factName({ fact: measure.median, isMedian: true })) ?? {}
    return n?.[period] ? (amount?.[period] ?? 0) / (measure.dividedBy ?? 1) : null
  }
  const operand = ({ fact, of, at }: Operand) => (at === "start" ? until(fact, of, period - 1) : during(fact, of))
  const [part, whole] = [operand(measure.ratio[0]), operand(measure.ratio[1])]
  if (whole === 0) return null
  return measure.unit === "minor units" ? Math.round(part / whole) : part / whole / (measure.dividedBy ?? 1)
}
