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
])("%s removes something that the last release may use", (sql, problem) => {
  expect(findingsIn([["1_change", `-- Change\n${sql};\n`]])).toEqual([
    { migration: "1_change", problem: expect.stringMatching(`^${problem}: `) },
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
