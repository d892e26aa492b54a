import type { z } from "zod"
import type { tables } from "@/lib/yours/tables"
import { type CountedTable, dailyTotal, isCounted } from "./daily-sums"
import { type Conditions, findIn, type List } from "./page"

/** Totals of a counted table are read from its daily sums; the rows of another one are counted. */
export function listed<Row extends z.ZodObject, Name extends string = never>(
  table: CountedTable | keyof typeof tables,
  row: Row,
  more: Pick<List<Row>, "columns" | "bounded" | "meta"> & { conditions?: Conditions<Name> } = {},
) {
  type Where = Partial<z.input<Row>> & { readonly [Condition in Name]?: unknown }
  const list: List<Row, Where> = { ...more, table, row, ...(isCounted(table) && { total: dailyTotal(table) }) }
  return findIn(list)
}
