import { tables, type YourTable } from "@/lib/yours/tables"
import { type Bind, columnName, equals, type Range } from "./page"
import { pool } from "./pool"

// Totals and statistics are read from sums per UTC day instead of counting rows. Triggers insert every change of a
// counted row into `daily_changes`, and folding moves these changes into `daily_sums`. Readers add up both tables in
// one snapshot, so the result is always exact. The latest migration with `daily_facts` of a table defines its series.

export const counted = "(SELECT * FROM daily_sums UNION ALL SELECT * FROM daily_changes)"

/** Keeps each statement short, however large the backlog is. */
const batch = 20_000

// Only one fold runs at a time; a concurrent one does nothing instead of waiting.
const foldStatement = {
  name: "fold-daily-changes",
  text: `
    WITH lock AS MATERIALIZED (SELECT pg_try_advisory_xact_lock(hashtext('daily_sums')) AS acquired),
    changes AS (
      DELETE FROM daily_changes
      WHERE ctid = ANY (ARRAY (SELECT c.ctid FROM daily_changes c, lock WHERE acquired LIMIT $1))
      RETURNING *),
    folded AS (
      INSERT INTO daily_sums AS s
      SELECT series, day, label, sublabel, sum(n), sum(amount) FROM changes
      GROUP BY 1, 2, 3, 4 HAVING sum(n) <> 0 OR sum(amount) <> 0
      ON CONFLICT (series, day, label, sublabel) DO UPDATE SET n = s.n + excluded.n, amount = s.amount + excluded.amount)
    SELECT count(*)::int AS count FROM changes`,
}

/** Keeps reads fast, and does not change their result. */
export async function foldDailyChanges(database = pool()): Promise<number> {
  let folded = 0
  for (;;) {
    const { rows } = await database.query<{ count: number }>({ ...foldStatement, values: [batch] })
    const count = rows[0]?.count ?? 0
    folded += count
    if (count < batch) return folded
  }
}

const countedTables = {
  users: { status: "label", role: "sublabel" },
  subscriptions: { status: "label", planId: "sublabel" },
  orders: { status: "label" },
  credit_accounts: {},
  credit_entries: { kind: "label" },
  audit_entries: { action: "label", targetType: "sublabel" },
  emails: { status: "label", template: "sublabel" },
  feedback: { status: "label", rating: "sublabel" },
  waitlist_entries: { status: "label" },
  key_requests: { status: "label", route: "sublabel" },
  key_usage: { unit: "label" },
} as const satisfies Record<string, CountedFields>

type CountedFields = NonNullable<YourTable["counted"]>

export type CountedTable = keyof typeof countedTables

const counts: Readonly<Record<string, CountedFields | undefined>> = {
  ...countedTables,
  ...Object.fromEntries(Object.entries<YourTable>(tables).map(([name, { counted }]) => [name, counted])),
}

export function isCounted(table: string): boolean {
  return counts[table] !== undefined
}

type Series = {
  name: string
  at: string
  since: string
  until: string
  only?: string | undefined
  fields: Readonly<Record<string, string>>
  /** The SQL of fields without a column of that name. */
  columns?: Readonly<Record<string, string>>
}

const byCreation = { at: "created_at", since: "since", until: "until" }
const ofSubscription = { fields: { status: "label", planId: packed(1), cancelAtPeriodEnd: packed(2) } } as const
const ofOrder = {
  fields: { currency: "label", kind: packed(1), planId: packed(2), status: packed(3) },
  columns: { planId: "plan_of(subscription_id)" },
}

function at(column: string, name: string) {
  return { at: column, since: `${name}Since`, until: `${name}Until` }
}

/** For filters that the series named as the table lacks. */
const furtherSeries: Readonly<Record<string, readonly Series[] | undefined>> = {
  orders: [
    { name: "orders.listed", ...ofOrder, ...byCreation },
    { name: "orders.sold", ...ofOrder, ...at("paid_at", "paid") },
    { name: "orders.last_refunded", ...ofOrder, ...at("refunded_at", "refunded") },
  ],
  subscriptions: [
    { name: "subscriptions.listed", ...ofSubscription, ...byCreation },
    { name: "subscriptions.canceled", ...ofSubscription, ...at("canceled_at", "canceled") },
    {
      name: "subscriptions.lost",
      fields: { planId: packed(1), status: packed(3) },
      only: "NOT replaced",
      ...at("canceled_at", "churned"),
    },
  ],
  waitlist_entries: [
    { name: "waitlist_entries.by_source", fields: { source: packed(1), status: packed(2) }, ...byCreation },
  ],
}

export function packed(position: number): string {
  return `(sublabel::text[])[${position}]`
}

export function dailyTotal(table: string) {
  const own = { ...byCreation, name: table, fields: counts[table] ?? {} }
  const all: readonly Series[] = [own, ...(furtherSeries[table] ?? [])]
  return (where: object, range: Range, bind: Bind): string | undefined => {
    const { since, until } = range
    const asked: Record<string, unknown> = { ...where, ...(since && { since }), ...(until && { until }) }
    const series = all.find(({ since, until, fields }) =>
      Object.keys(asked).every((name) => name === since || name === until || Object.hasOwn(fields, name)),
    )
    if (!series) return undefined
    const { name, at, only, fields, columns = {} } = series
    const filters = Object.entries(where).filter(([field]) => Object.hasOwn(fields, field))
    const conditions = filters.map(([field, value]) => equals(String(fields[field]), value, bind, "::text"))
    const startOf = (time: string) => `utc_day(${time})`
    const total = totalFrom({ table, at, only, columns, sums: counted, bucket: "day", ms: day, startOf })
    const bounds = { since: asked[series.since], until: asked[series.until] } as Range
    return total([`series = '${name}'`, ...conditions], Object.fromEntries(filters), bounds, bind)
  }
}

type Sums = { table: string; sums: string; bucket: string; ms: number; startOf: (time: string) => string } & Partial<
  Pick<Series, "at" | "only" | "columns">
>

export function totalFrom({ table, at = byCreation.at, only, columns = {}, sums, bucket, ms, startOf }: Sums) {
  return (conditions: readonly string[], where: object, { since, until }: Range, bind: Bind): string => {
    const periods = [...conditions]
    const parts: string[] = []
    function count(sign: "+" | "-", from: number, to: number): void {
      if (from === to) return
      const interval = `${at} >= ${bind(new Date(from))} AND ${at} < ${bind(new Date(to))}`
      const equal = Object.entries(where).map(([field, value]) =>
        equals(columns[field] ?? columnName(field), value, bind),
      )
      parts.push(
        ` ${sign} (SELECT count(*) FROM ${table} WHERE ${[interval, ...(only ? [only] : []), ...equal].join(" AND ")})`,
      )
    }
    // For a period only partly in the range, the shorter part is counted: the rows outside are subtracted from its sum,
    // or the rows inside are counted instead of it.
    if (since) {
      const [start, bound] = [floor(since), since.getTime()]
      const isMostlyIn = bound - start <= ms / 2
      periods.push(`${bucket} ${isMostlyIn ? ">=" : ">"} ${startOf(bind(since))}`)
      if (isMostlyIn) count("-", start, bound)
      else count("+", bound, start + ms)
    }
    if (until) {
      const [start, bound] = [floor(until), until.getTime() + 1]
      const isMostlyIn = bound - start >= ms / 2
      periods.push(`${bucket} ${isMostlyIn ? "<=" : "<"} ${startOf(bind(until))}`)
      if (isMostlyIn) count("-", bound, start + ms)
      else count("+", start, bound)
    }
    return `((SELECT coalesce(sum(n), 0) FROM ${sums} c WHERE ${periods.join(" AND ")})${parts.join("")})::bigint`
  }

  function floor(time: Date): number {
    return Math.floor(time.getTime() / ms) * ms
  }
}

const day = 86_400_000
