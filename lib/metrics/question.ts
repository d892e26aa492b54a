import type { Fact, Family, Measure } from "./family"
import type { StatsInterval } from "./periods"

export class QuestionError extends Error {}

export type Question = {
  family: Family
  measures: readonly string[]
  by: readonly string[]
  unit: StatsInterval | undefined
  where: Readonly<Record<string, unknown>>
  /** Both inclusive, in milliseconds. */
  since: number
  until: number
  /** Reads any number of rows instead of refusing a question that is too wide. */
  isUnbounded?: true
  /** Further rows may be returned, if they take no more work. */
  first?: { measure: string; order: "asc" | "desc"; rows: number }
}

export function measureOf({ measures, name }: Family, of: string): Measure {
  const measure = Object.hasOwn(measures, of) ? measures[of] : undefined
  if (!measure) throw new Error(`The family ${name} has no measure ${of}.`)
  return measure
}

export function factOf({ facts }: Family, name: string): Fact {
  return facts[name] as Fact
}

/** `isOfRange`: in the whole range. `isCumulative`: also before the range. */
export type Use = {
  fact: string
  column?: string
  isMedian?: true
  isOfRange?: true | undefined
  isCumulative: boolean
}

export function usesOf(measures: readonly Measure[]): Use[] {
  const uses = new Map<string, Use>()
  const add = (fact: string, more: Partial<Use> = {}) => {
    const name = factName({ fact, ...more })
    const isCumulative = Boolean(more.isCumulative || uses.get(name)?.isCumulative)
    uses.set(name, { fact, ...more, isCumulative })
  }
  for (const measure of measures) {
    if ("sum" in measure) for (const fact of [measure.sum, ...(measure.less ? [measure.less] : [])]) add(fact)
    else if ("total" in measure) add(measure.total, { isCumulative: true })
    else if ("median" in measure) add(measure.median, { isMedian: true })
    else if ("distinct" in measure) add(measure.distinct, { column: measure.column, isOfRange: measure.isOfRange })
    else for (const { fact, at } of measure.ratio) add(fact, { isCumulative: at === "start" })
  }
  return [...uses.values()]
}

export function factName({ fact, column = "", isMedian, isOfRange }: Omit<Use, "isCumulative">): string {
  return `${fact} ${column}${isMedian ? "median" : ""}${isOfRange ? " of range" : ""}`
}

/** Different values and medians of a period do not follow from its days. */
export function isSummable({ column, isMedian }: Use): boolean {
  return !column && !isMedian
}

export function dimensionsOf(family: Family, measures: readonly string[]): string[] {
  const uses = usesOf(measures.map((name) => measureOf(family, name)))
  return Object.keys(family.dimensions).filter((name) =>
    uses.every((use) => {
      const { series, rows } = factOf(family, use.fact)
      const isSummed = isSummable(use) && series && Object.hasOwn(series.dimensions, name)
      return isSummed || (!use.isCumulative && Object.hasOwn(rows.dimensions, name))
    }),
  )
}
