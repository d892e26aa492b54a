import type { Listener } from "@/scripts/build-and-serve"

/** `npm run test:long` runs every cross product whole; `npm test` runs a sample of it, the same one in each run. */
export const isLong = process.env.LONG === "1"

/**
 * Pairs rows with columns. The long form has every pair. The short form has `count` columns for each row, in turn and
 * starting at the row's place, so that every column occurs at least once.
 */
export function crossed<Row, Column>(
  rows: readonly Row[],
  columns: readonly Column[],
  count = 1,
): { row: Row; columns: Column[] }[] {
  const size = isLong
    ? columns.length
    : Math.min(columns.length, Math.max(count, Math.ceil(columns.length / rows.length)))
  return rows.map((row, place) => ({
    row,
    columns: Array.from({ length: size }, (_, index) => columns[(place * size + index) % columns.length] as Column),
  }))
}

/** All values in the long form, and the first `count` in the short form. */
export function sampled<Value>(values: readonly Value[], count = 1): readonly Value[] {
  return isLong ? values : values.slice(0, count)
}

/** All values in the long form; in the short form one value, in turn for each place. */
export function inTurn<Value>(values: readonly Value[], place: number): readonly Value[] {
  return isLong || values.length === 0 ? values : [values[place % values.length] as Value]
}

/** Tests run on the product's listener, in the long form also on Next alone. listeners-agree.test.ts compares both. */
export const listeners: readonly Listener[] = isLong ? ["lean", "next"] : ["lean"]

/** Whether scripts run in the browser. Without them, the short form tries one form of each kind, the long form all. */
export const scripting = sampled([true, false])
