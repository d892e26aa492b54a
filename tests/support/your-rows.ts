import { insertYourRows } from "@/prisma/your-rows"
import { ownerPool } from "./owner"

/** Inserts a row of an account into each of your tables, with the texts that `textOf` returns for `table.column`. */
export function insertYourRow(userId: string, textOf: (column: string) => string): Promise<void> {
  const row = `SELECT 1 AS n, gen_random_uuid() AS id, '${userId}'::uuid AS user_id, now() AS at, 1 AS mix`
  return insertYourRows(ownerPool(), row, textOf)
}
