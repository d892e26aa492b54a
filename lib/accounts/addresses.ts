import { readPool } from "@/lib/platform/postgres/standbys"
import { isUuid } from "@/lib/platform/schemas/text"

/** The addresses of accounts by their ids. Without Prisma, which the listener of the API does not bundle. */
export async function emailsOf(ids: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await readPool().query<{ id: string; email: string }>(
    "SELECT id, email FROM users WHERE id = ANY ($1)",
    [[...new Set(ids.filter(isUuid))]],
  )
  return new Map(rows.map(({ id, email }) => [id, email]))
}
