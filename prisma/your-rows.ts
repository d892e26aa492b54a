import pg, { type ClientBase, type Pool } from "pg"
import { tables, type YourTable } from "@/lib/yours/tables"

/** The tables of lib/yours/tables.ts. */
export const yourTables: readonly string[] = Object.keys(tables)

type Column = { name: string; type: string; kind: "enum" | "array" | "other"; values: number; isRequired: boolean }

type Text = (column: string) => string

/**
 * Inserts rows into each of your tables, with values that follow from the types of the columns.
 * @param rows a query for `n`, a number; `id`; `user_id`; `at`, the time; and `mix`, which is small in rows with a rare value
 * @param textOf the value of a column that takes any text, as `table.column`
 */
export async function insertYourRows(database: Pool | ClientBase, rows: string, textOf?: Text): Promise<void> {
  for (const table of yourTables) {
    const columns = await columnsOf(database, table)
    const names = columns.map(({ name }) => `"${name}"`)
    const values = columns.map((column) => sqlOf(table, column, textOf))
    await database.query(`INSERT INTO ${table} (${names.join(", ")}) SELECT ${values.join(", ")} FROM (${rows}) entry`)
  }
}

/** The columns of your tables whose text does not follow from `textOf`, as `table.column`. */
export function withoutText(): string[] {
  return Object.entries<YourTable>(tables).flatMap(([table, { values = {} }]) =>
    Object.keys(values).map((column) => `${table}.${column}`),
  )
}

async function columnsOf(database: Pool | ClientBase, table: string): Promise<Column[]> {
  const { rows } = await database.query<Column>(
    `SELECT attname AS name, format_type(atttypid, atttypmod) AS type, attnotnull AS "isRequired",
            CASE WHEN typtype = 'e' THEN 'enum' WHEN typcategory = 'A' THEN 'array' ELSE 'other' END AS kind,
            (SELECT count(*)::int FROM pg_enum WHERE enumtypid = atttypid) AS values
     FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid
     WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum`,
    [table],
  )
  return rows
}

function sqlOf(table: string, { name, type, kind, values, isRequired }: Column, textOf?: Text): string {
  const own = (tables as Readonly<Record<string, YourTable>>)[table]?.values?.[name]
  if (own) return own
  if (name === "id" || name === "user_id") return name
  if (kind === "enum") return `(enum_range(NULL::${type}))[1 + CASE WHEN mix < ${values} THEN mix ELSE 0 END]`
  if (kind === "array") return "'{}'"
  if (type === "text" || type.startsWith("character")) {
    return textOf ? pg.escapeLiteral(textOf(`${table}.${name}`)) : `'${name} ' || n`
  }
  if (type === "bytea")
    return textOf ? `convert_to(${pg.escapeLiteral(textOf(`${table}.${name}`))}, 'utf8')` : "sha256(n::text::bytea)"
  if (type.startsWith("timestamp")) return isRequired ? "at" : "CASE WHEN mix % 2 = 0 THEN at END"
  const known: Readonly<Record<string, string>> = {
    date: "at::date",
    boolean: "mix = 1",
    smallint: "mix",
    integer: "mix",
    bigint: "mix",
    jsonb: "'{}'",
  }
  const value = known[type] ?? (isRequired ? undefined : "NULL")
  if (value) return value
  throw new Error(`Add SQL for the values of ${table}.${name}, of type ${type}, to \`values\` in lib/yours/tables.ts.`)
}
