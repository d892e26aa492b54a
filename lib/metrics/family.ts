import type { z } from "zod"
import type { Permission } from "@/lib/permissions"
import { currencyCode, id } from "@/lib/platform/schemas/fields"

// A family is a set of measures of one kind of thing, such as orders. It is declared with the endpoint that lists them.

/** A property by which measures are split and filtered. */
export type Dimension = {
  /** What a filter accepts. */
  schema: z.ZodType<unknown, string>
  description: string
  /** Whether it contains text from outsiders. */
  untrusted?: boolean
  /** How a filter compares it; equal unless given. One that is not equal cannot be split by. */
  operator?: "<"
  /** Whether an index finds the rows of one value, so that a question about it reads few others. */
  isIndexed?: true
  /** What reading it requires, besides the family's own permission. */
  permission?: Permission
}

/**
 * Things that happen at a time, of which measures are sums and counts. They are read from the daily sums, by `series`,
 * and where those are too coarse, from the rows themselves.
 */
export type Fact = {
  /** The series in the daily sums, if there is one, and the SQL of the dimensions that it has. */
  series?: { name: string; dimensions: Readonly<Record<string, string>>; condition?: string; amount?: string }
  /**
   * The series with one unit for each account and day on which this happened, whose label is the same account's day before
   * that: the accounts of a range are the units in it whose label is earlier than its start. With `hasPeriods`, those of
   * that name and `.day`, `.week` and `.month` count the accounts of each calendar period.
   */
  days?: { series: string; hasPeriods?: true }
  /** The rows, as SQL: `at` is an indexed column, `n` and `amount` are what a row counts for. */
  rows: {
    from: string
    at: string
    /** The length of what a row stands for, in milliseconds, if that is not a moment. */
    stepMs?: number
    n?: string
    amount?: string
    dimensions: Readonly<Record<string, string>>
  }
}

type Unit = "count" | "minor units" | "credits" | "days" | "share" | "rating"

/** How a measure follows from what happened, in a period or by its end. */
export type Measure<FactName extends string = string> = {
  unit: Unit
  definition: string
  /** What reading it requires, besides the family's own permission. */
  permission?: Permission
} & (
  | { sum: FactName; of: "n" | "amount"; less?: FactName }
  /** All that happened until the end of the period. */
  | { total: FactName; of: "n" | "amount"; dividedBy?: number }
  /**
   * The number of different values of a column of the rows; of accounts, if the fact has `days`. That of the whole range
   * is the same in each period.
   */
  | { distinct: FactName; column: string; isOfRange?: true }
  /** The part of one value in another; `null` if that is 0. */
  | { ratio: readonly [Operand<FactName>, Operand<FactName>]; dividedBy?: number }
)

/** A value of a fact in the period, or by its start. */
export type Operand<FactName extends string = string> = { fact: FactName; of: "n" | "amount"; at?: "start" }

export type Family<FactName extends string = string> = {
  name: string
  dimensions: Readonly<Record<string, Dimension>>
  facts: Readonly<Record<FactName, Fact>>
  measures: Readonly<Record<string, Measure<FactName>>>
}

/** A family, and the permission that its endpoint requires. */
export type Source = { permission: Permission; family: Family }

/** A family whose measures name its facts, checked by the compiler. */
export function family<const FactName extends string>(row: Family<FactName>): Family {
  return row as Family
}

/** The currency of amounts, by which every family with amounts can be split. */
export const currencyDimension: Dimension = {
  schema: currencyCode,
  description: "ISO 4217 code in lower case; amounts are always split by it",
}

/** The account that something belongs to. There are too many for sums, so its questions read rows. */
export const accountDimension: Dimension = {
  schema: id,
  description: "Id of the account",
  permission: "users.read",
  isIndexed: true,
}
