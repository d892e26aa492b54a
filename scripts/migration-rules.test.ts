import { expect, test } from "vitest"
import { findingsIn } from "./migration-rules"

test.each([
  ['DROP TABLE "orders"', "drops TABLE"],
  ["DROP TYPE order_kind", "drops TYPE"],
  ["DROP MATERIALIZED VIEW totals", "drops MATERIALIZED VIEW"],
  ["DROP SCHEMA request_log CASCADE", "drops SCHEMA"],
  ["DROP FUNCTION utc_day(timestamptz)", "drops a function"],
  ['ALTER TABLE "orders" DROP COLUMN "kind"', "drops a column"],
  ["ALTER TABLE ONLY public.orders DROP kind", "drops a column"],
  ["alter table orders drop column kind", "drops a column"],
  ['ALTER TABLE "orders" ADD COLUMN "a" INT, DROP COLUMN IF EXISTS "b"', "drops a column"],
  ["DO $$ BEGIN ALTER TABLE orders DROP COLUMN kind; END $$", "drops a column"],
  ["ALTER TABLE orders\n  ALTER COLUMN kind\n  SET NOT NULL", "sets NOT NULL"],
  ["ALTER TABLE orders ALTER COLUMN kind DROP DEFAULT", "drops a default"],
  ["ALTER TABLE orders ADD COLUMN a INT NOT NULL", "adds a column that is NOT NULL without a default"],
  ["ALTER TABLE orders ADD a numeric(10, 2) NOT NULL", "adds a column that is NOT NULL without a default"],
  ["ALTER TABLE orders RENAME TO purchases", "renames"],
  ["ALTER TABLE orders RENAME COLUMN kind TO type", "renames"],
  ["ALTER TYPE order_kind RENAME VALUE 'credits' TO 'credit'", "renames"],
])("%s takes away what the last release may use", (sql, problem) => {
  expect(findingsIn([["1_change", `-- Change\n${sql};\n`]])).toEqual([
    { migration: "1_change", problem: expect.stringMatching(`^${problem}: `), takesAway: true },
  ])
})

test.each([
  ["ALTER TABLE orders ALTER COLUMN amount TYPE BIGINT", "changes the type of a column"],
  ["ALTER TABLE orders ALTER amount SET DATA TYPE BIGINT", "changes the type of a column"],
  ["ALTER TABLE orders ADD COLUMN token UUID NOT NULL DEFAULT gen_random_uuid()", "adds a column whose values differ"],
  ["ALTER TABLE orders ADD COLUMN n BIGSERIAL", "adds a column whose values differ"],
  ["ALTER TABLE orders ADD COLUMN d INT GENERATED ALWAYS AS (amount * 2) STORED", "adds a column whose values differ"],
  ["ALTER TABLE orders ADD CONSTRAINT positive CHECK (amount > 0)", "adds a constraint without NOT VALID"],
  ["ALTER TABLE orders ADD CHECK (amount > 0)", "adds a constraint without NOT VALID"],
  [
    'ALTER TABLE "orders" ADD CONSTRAINT "f" FOREIGN KEY ("user_id") REFERENCES "users"("id")',
    "adds a constraint without NOT VALID",
  ],
  ["ALTER TABLE orders ADD CONSTRAINT one UNIQUE (kind, amount)", "adds a constraint without NOT VALID"],
  ['CREATE INDEX "i" ON "orders"("kind")', "builds an index without CONCURRENTLY"],
  ["CREATE UNIQUE INDEX i ON public.orders USING btree (kind)", "builds an index without CONCURRENTLY"],
  ["UPDATE orders SET kind = 'credits'", "changes rows"],
  ["DELETE FROM orders WHERE amount = 0", "changes rows"],
])("%s locks or rewrites a table that may be big", (sql, problem) => {
  expect(findingsIn([["1_change", `${sql};\n`]])).toEqual([
    { migration: "1_change", problem: expect.stringMatching(`^${problem}.*: `), takesAway: false },
  ])
})

test("an index is built CONCURRENTLY only alone in its migration", () => {
  const index = "CREATE INDEX CONCURRENTLY i ON orders (kind);"
  expect(findingsIn([["1_index", `-- The kinds\n${index}`]])).toEqual([])
  expect(findingsIn([["1_index", `${index}\nALTER TABLE orders ADD COLUMN a INT;`]])).toMatchObject([
    { problem: expect.stringContaining("not alone in its migration") },
  ])
})

test.each([
  "ALTER TABLE orders ADD COLUMN a INT, ADD COLUMN b TEXT NOT NULL DEFAULT 'x'",
  "ALTER TABLE orders ADD COLUMN at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP",
  "ALTER TABLE orders ADD COLUMN at TIMESTAMPTZ(3) NOT NULL DEFAULT now()",
  "ALTER TABLE orders ADD CONSTRAINT positive CHECK (amount > 0) NOT VALID",
  "ALTER TABLE orders VALIDATE CONSTRAINT positive",
  "ALTER TABLE orders DROP CONSTRAINT positive",
  "ALTER TABLE orders ALTER COLUMN kind DROP NOT NULL",
  "ALTER TABLE orders ALTER COLUMN kind SET DEFAULT 'credits'",
  "ALTER TYPE order_kind ADD VALUE 'gift'",
  "CREATE INDEX i ON ONLY orders (kind)",
  "CREATE TRIGGER t AFTER UPDATE OR DELETE ON orders FOR EACH ROW EXECUTE FUNCTION f()",
  "-- DROP TABLE orders\n/* ALTER TABLE orders RENAME TO x; */ SELECT 1",
  "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN DROP TABLE orders; UPDATE orders SET a = 1; END $$",
  "DROP FUNCTION f(int); CREATE FUNCTION f(int) RETURNS int LANGUAGE sql AS 'SELECT 1'",
])("%s only expands", (sql) => {
  expect(findingsIn([["1_change", `${sql};\n`]])).toEqual([])
})

test("what is done to a table that the same release creates locks nobody", () => {
  const create = 'CREATE TABLE "notes" ("id" UUID NOT NULL, "text" TEXT);'
  const change =
    'CREATE INDEX "i" ON "notes"("id"); ALTER TABLE "notes" ADD CONSTRAINT "n" CHECK ("text" <> \'\'); UPDATE notes SET text = NULL;'
  expect(
    findingsIn([
      ["1_notes", create],
      ["2_notes", change],
    ]),
  ).toEqual([])
  expect(findingsIn([["2_notes", change]])).toHaveLength(3)
})
