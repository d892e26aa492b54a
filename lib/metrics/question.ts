import type { Fact, Family, Measure } from "./family"
import type { StatsInterval } from "./periods"

/** A question that is not possible, or too wide; the message says what is. */
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
  /** The rows that matter: those with the most or the least of a measure. Others are returned too if that is no more work. */
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

/** A fact that measures need: what happened in each period, or in the whole range, or also what happened before it. */
export type Use = { fact: string; column?: string; isOfRange?: true | undefined; isCumulative: boolean }

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
    else if ("distinct" in measure) add(measure.distinct, { column: measure.column, isOfRange: measure.isOfRange })
    else for (const { fact, at } of measure.ratio) add(fact, { isCumulative: at === "start" })
  }
  return [...uses.values()]
}

/** What the groups of a fact are found under. */
export function factName({ fact, column = "", isOfRange }: Omit<Use, "isCumulative">): string {
  return `${fact} ${column}${isOfRange ? " of range" : ""}`
}

/** The dimensions by which all of the measures can be split and filtered. */
export function dimensionsOf(family: Family, measures: readonly string[]): string[] {
  const uses = usesOf(measures.map((name) => measureOf(family, name)))
  return Object.keys(family.dimensions).filter((name) =>
    uses.every(({ fact, column, isCumulative }) => {
      const { series, rows } = factOf(family, fact)
      const isSummed = !column && series && Object.hasOwn(series.dimensions, name)
      return isSummed || (!isCumulative && Object.hasOwn(rows.dimensions, name))
    }),
  )
}
