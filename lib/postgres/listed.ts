import type { z } from "zod"
import { type countedTables, dailyTotal } from "./daily-sums"
import { findIn, type List, type Page } from "./page"

/** The `find` of a list over a table: its conditions are fields of `row`, and totals come from the daily sums. */
export function listed<Row extends z.ZodObject>(
  table: keyof typeof countedTables,
  row: Row,
  more: Pick<List<Row>, "columns" | "meta"> = {},
) {
  const list: List<Row> = { ...more, table, row, total: dailyTotal(table) }
  return (where: Partial<z.input<Row>>, page: Page) => findIn(list, where, page)
}
