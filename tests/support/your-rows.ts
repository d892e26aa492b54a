import { randomUUID } from "node:crypto"
import { insertYourRows } from "@/prisma/your-rows"
import { ownerPool } from "./owner"

/**
 * Inserts a row of an account into each of your tables, with the texts that `textOf` returns for `table.column`.
 * @returns the id of these rows
 */
export async function insertYourRow(userId: string, textOf: (column: string) => string = String): Promise<string> {
  const id = randomUUID()
  const row = `SELECT 1 AS n, '${id}'::uuid AS id, '${userId}'::uuid AS user_id, now() AS at, 1 AS mix`
  await insertYourRows(ownerPool(), row, textOf)
  return id
}
