import { type Bind, columnName, type Range } from "./page"
import { pool } from "./pool"

// Totals and statistics are read from sums of days (UTC), not from the rows that they count. Triggers write every change of
// a counted row as a line into `daily_changes`; folding moves lines into `daily_sums`. Who reads adds both up in one
// snapshot, so the sum is exact at every moment, however long ago anybody folded. What is counted for what is in the
// migration `daily_sums`.

/** What there is of a series: the sums, and what has changed since. To be used in SQL as a table. */
export const counted = "(SELECT * FROM daily_sums UNION ALL SELECT * FROM daily_changes)"

/** So that a backlog of any size is folded by statements that are short. */
const batch = 20_000

// One folds at a time: others that would have to wait do nothing instead, and come again.
const foldStatement = {
  name: "fold-daily-changes",
  text: `
    WITH turn AS MATERIALIZED (SELECT pg_try_advisory_xact_lock(hashtext('daily_sums')) AS mine),
    gone AS (
      DELETE FROM daily_changes
      WHERE ctid = ANY (ARRAY (SELECT c.ctid FROM daily_changes c, turn WHERE mine LIMIT $1))
      RETURNING *),
    folded AS (
      INSERT INTO daily_sums AS s
      SELECT series, day, label, sublabel, sum(n), sum(amount) FROM gone
      GROUP BY 1, 2, 3, 4 HAVING sum(n) <> 0 OR sum(amount) <> 0
      ON CONFLICT (series, day, label, sublabel) DO UPDATE SET n = s.n + excluded.n, amount = s.amount + excluded.amount)
    SELECT count(*)::int AS lines FROM gone`,
}

/** Moves what has changed into the sums, which keeps reading them fast; it changes nothing about what they say. */
export async function foldDailyChanges(database = pool()): Promise<number> {
  let folded = 0
  for (;;) {
    const { rows } = await database.query<{ lines: number }>({ ...foldStatement, values: [batch] })
    const lines = rows[0]?.lines ?? 0
    folded += lines
    if (lines < batch) return folded
  }
}

/** The tables whose rows are a series of their own, and by which of their fields it tells them apart. */
export const countedTables = {
  users: { status: "label", role: "sublabel" },
  subscriptions: { status: "label", planId: "sublabel" },
  orders: { status: "label" },
  credit_accounts: {},
  credit_entries: { kind: "label" },
  audit_entries: { action: "label", targetType: "sublabel" },
  emails: { status: "label", template: "sublabel" },
  feedback: { status: "label", rating: "sublabel" },
  waitlist_entries: { status: "label" },
} as const satisfies Record<string, Record<string, "label" | "sublabel">>

/** How many rows of a table match, in SQL, for lists; nothing where a field is asked for that the series does not know. */
export function dailyTotal(table: keyof typeof countedTables) {
  const labels: Record<string, string> = countedTables[table]
  return (where: object, { since, until }: Range, bind: Bind): string | undefined => {
    const asked = Object.entries(where)
    if (!asked.every(([field]) => Object.hasOwn(labels, field))) return undefined
    const conditions = asked.map(([field, value]) => `${labels[field]} = ${bind(value)}::text`)
    const days = [`series = '${table}'`, ...conditions]
    const parts: string[] = []
    function count(sign: "+" | "-", from: number, to: number): void {
      if (from === to) return
      const moments = `created_at >= ${bind(new Date(from))} AND created_at < ${bind(new Date(to))}`
      const equal = asked.map(([field, value]) => `${columnName(field)} = ${bind(value)}`)
      parts.push(` ${sign} (SELECT count(*) FROM ${table} WHERE ${[moments, ...equal].join(" AND ")})`)
    }
    // Of a day that the range cuts, the shorter part is counted: what lies outside is taken off the day's sum, or what lies
    // inside stands in its place.
    if (since) {
      const [start, cut] = [startOfDay(since), since.getTime()]
      const isMostlyIn = cut - start <= day / 2
      days.push(`day ${isMostlyIn ? ">=" : ">"} utc_day(${bind(since)})`)
      if (isMostlyIn) count("-", start, cut)
      else count("+", cut, start + day)
    }
    if (until) {
      const [start, cut] = [startOfDay(until), until.getTime() + 1]
      const isMostlyIn = cut - start >= day / 2
      days.push(`day ${isMostlyIn ? "<=" : "<"} utc_day(${bind(until)})`)
      if (isMostlyIn) count("-", cut, start + day)
      else count("+", start, cut)
    }
    return `((SELECT coalesce(sum(n), 0) FROM ${counted} c WHERE ${days.join(" AND ")})${parts.join("")})::bigint`
  }
}

const day = 86_400_000

function startOfDay(moment: Date): number {
  return Math.floor(moment.getTime() / day) * day
}
