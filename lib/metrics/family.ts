import type { z } from "zod"
import type { Permission } from "@/lib/permissions"
import { emailParameter } from "@/lib/platform/email/address"
import { currencyCode, id } from "@/lib/platform/schemas/fields"

// A family is a set of measures of one kind of thing, such as orders. The endpoint that lists the things declares it.

export type Dimension = {
  schema: z.ZodType<unknown, string>
  description: string
  untrusted?: boolean
  /** Replaces equality in a filter. A measure cannot be split by a dimension with an operator. */
  operator?: "<"
  /** An index finds the rows of one value, so that a question about it reads few others. */
  isIndexed?: true
  /** Required in addition to the family's permission. */
  permission?: Permission
}

/** Read from the daily sums, and from the rows where the sums are too coarse. */
export type Fact = {
  series?: { name: string; dimensions: Readonly<Record<string, string>>; condition?: string; amount?: string }
  /**
   * One unit for each account and day, whose label is the account's previous such day. The accounts of a range are the
   * units in it whose label is earlier than its start. With `hasPeriods`, the series with `.day`, `.week` and `.month`
   * count the accounts of each calendar period.
   */
  days?: { series: string; hasPeriods?: true }
  /** SQL. `at` is an indexed column; a row counts for `n` and `amount`. */
  rows: {
    from: string
    at: string
    /** In milliseconds, if a row stands for a period and not for a moment. */
    stepMs?: number
    n?: string
    amount?: string
    dimensions: Readonly<Record<string, string>>
  }
}

type Unit = "count" | "minor units" | "credits" | "days" | "share" | "rating"

export type Measure<FactName extends string = string> = {
  unit: Unit
  definition: string
  /** Required in addition to the family's permission. */
  permission?: Permission
} & (
  | { sum: FactName; of: "n" | "amount"; less?: FactName }
  /** Until the end of the period. */
  | { total: FactName; of: "n" | "amount"; dividedBy?: number }
  /**
   * Different values of a column, or accounts if the fact has `days`. `isOfRange`: of the range, equal in each period.
   */
  | { distinct: FactName; column: string; isOfRange?: true }
  /** The middle of the amounts of single rows, which sums do not have; `null` without rows. */
  | { median: FactName; dividedBy?: number }
  /** `null` if the divisor is 0. */
  | { ratio: readonly [Operand<FactName>, Operand<FactName>]; dividedBy?: number }
)

export type Operand<FactName extends string = string> = { fact: FactName; of: "n" | "amount"; at?: "start" }

export type Family<FactName extends string = string> = {
  name: string
  dimensions: Readonly<Record<string, Dimension>>
  facts: Readonly<Record<FactName, Fact>>
  measures: Readonly<Record<string, Measure<FactName>>>
}

export type Source = { permission: Permission; family: Family }

/** The compiler checks that the measures name facts of the family. */
export function family<const FactName extends string>(row: Family<FactName>): Family {
  return row as Family
}

export const currencyDimension: Dimension = {
  schema: currencyCode,
  description: "ISO 4217 code in lower case; amounts are always split by it",
}

/** There are too many accounts for sums: a question about them reads rows. */
export const accountDimensions: Record<"account" | "email", Dimension> = {
  account: { schema: id, description: "Id of the account", permission: "users.read", isIndexed: true },
  email: {
    schema: emailParameter,
    description: "Address of the account",
    untrusted: true,
    permission: "users.read",
  },
}

export const accountColumns = { account: "user_id", email: emailOf("user_id") }

export function emailOf(accountId: string): string {
  return `(SELECT u.email FROM users u WHERE u.id = ${accountId})`
}
