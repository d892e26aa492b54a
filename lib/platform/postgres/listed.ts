import type { z } from "zod"
import type { tables } from "@/lib/yours/tables"
import { type CountedTable, dailyTotal, isCounted } from "./daily-sums"
import { type Conditions, findIn, type List } from "./page"

/** A field equals the value, or one of several. */
type Where<Row extends z.ZodObject, Name extends string, Values = z.input<Row>> = {
  readonly [Field in keyof Values]?: Values[Field] | readonly Values[Field][]
} & { readonly [Condition in Name]?: unknown }

/** Totals of a counted table are read from its daily sums; the rows of another one are counted. */
export function listed<Row extends z.ZodObject, Name extends string = never>(
  table: CountedTable | keyof typeof tables,
  row: Row,
  more: Pick<List<Row, Where<Row, Name>>, "columns" | "bounded" | "meta"> & { conditions?: Conditions<Name> } = {},
) {
  const list: List<Row, Where<Row, Name>> = {
    ...more,
    table,
    row,
    ...(isCounted(table) && { total: dailyTotal(table) }),
  }
  return findIn(list)
}
