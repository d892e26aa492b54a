import { expect, test } from "vitest"
import { ownerPool } from "@/tests/support/owner"
import { personalData, personalTables } from "./personal-data"

/** The columns of the database; partitions of the request log count as its table. */
async function columnsOfDatabase(): Promise<string[]> {
  const { rows } = await ownerPool().query<{ name: string }>(`
    SELECT table_name || '.' || column_name AS name FROM information_schema.columns
    WHERE table_schema NOT IN ('pg_catalog', 'information_schema', 'request_log') ORDER BY 1`)
  return rows.map(({ name }) => name)
}

const columnsOfMap = Object.entries(personalData).flatMap(([table, { columns }]) => {
  const names = Array.isArray(columns) ? columns : Object.keys(columns)
  return names.map((column) => `${table}.${column}`)
})

const howTo = "Add it to lib/leaving/personal-data.ts: its export and its erasure, or the reasons against them."

test("the map of personal data has every column of the database, and no other", async () => {
  const columns = await columnsOfDatabase()
  expect(
    columns.filter((column) => !columnsOfMap.includes(column)),
    howTo,
  ).toEqual([])
  expect(
    columnsOfMap.filter((column) => !columns.includes(column)),
    "Remove it from lib/leaving/personal-data.ts: it is not in the database.",
  ).toEqual([])
})

test("every table with a column of accounts is one of personal data", async () => {
  const { rows } = await ownerPool().query<{ name: string }>(`
    SELECT DISTINCT table_name AS name FROM information_schema.columns
    WHERE table_schema = current_schema() AND (column_name ~ '(user|owner|author|actor|key)_id$' OR column_name IN ('email', 'identifier'))`)
  const names = personalTables().map(([name]) => name)
  expect(rows.length).toBeGreaterThan(20)
  expect(rows.filter(({ name }) => !names.includes(name))).toEqual([])
})

test("every reason says something, and none stands for a decision that its table has to make", () => {
  for (const [name, { file, erasure, columns }] of personalTables()) {
    if ("without" in file) expect(file.without, name).toMatch(/^[A-Z].{10,}\.$/)
    for (const [column, [exported, erased]] of Object.entries(columns)) {
      const where = `${name}.${column}`
      if (exported !== true && "without" in exported) {
        expect(exported.without === "See the table.", where).toBe("without" in file)
        expect(exported.without, where).toMatch(/^[A-Z].{5,}\.$/)
      } else {
        expect("name" in file, where).toBe(true)
      }
      expect("kept" in erased && erased.kept === "See the table.", where).toBe(erasure === "rows")
      if ("kept" in erased) expect(erased.kept, where).toMatch(/^[A-Z].{5,}\.$/)
    }
  }
})

test("no hash, token or secret of the schema is exported", async () => {
  const secretNames = /(^|_)(hash|token|password|secret|fingerprint|connecting|exporting)/
  const exported = personalTables().flatMap(([table, { columns }]) =>
    Object.entries(columns).flatMap(([column, [exported]]) =>
      exported === true || "sql" in exported ? [`${table}.${column}`] : [],
    ),
  )
  expect(exported.length).toBeGreaterThan(100)
  expect(exported.filter((name) => secretNames.test(name.split(".")[1] ?? ""))).toEqual([])
  const { rows } = await ownerPool().query<{ name: string }>(`
    SELECT table_name || '.' || column_name AS name FROM information_schema.columns
    WHERE table_schema = current_schema() AND data_type = 'bytea'`)
  // Only a picture is not a hash.
  expect(rows.map(({ name }) => name).filter((name) => exported.includes(name))).toEqual(["user_pictures.image"])
})
