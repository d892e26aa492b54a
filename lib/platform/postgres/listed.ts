import type { z } from "zod"
import { type countedTables, dailyTotal } from "./daily-sums"
import { type Conditions, findIn, type List } from "./page"

export function listed<Row extends z.ZodObject, Name extends string = never>(
  table: keyof typeof countedTables,
  row: Row,
  more: Pick<List<Row>, "columns" | "bounded" | "meta"> & { conditions?: Conditions<Name> } = {},
) {
  type Where = Partial<z.input<Row>> & { readonly [Condition in Name]?: unknown }
  const list: List<Row, Where> = { ...more, table, row, total: dailyTotal(table) }
  return findIn(list)
}
