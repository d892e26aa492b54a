import type { Pool } from "pg"
import type { Statement } from "@/lib/platform/postgres/page"
import { ownerPool } from "./owner"

// A table like the ones in which a product stores the results of its metered work.

/** `later` is checked at the commit. */
export async function createResults(): Promise<void> {
  await ownerPool().query(`
    CREATE TABLE results (
      run_id UUID PRIMARY KEY, user_id UUID NOT NULL, text TEXT NOT NULL CONSTRAINT results_text CHECK (text <> 'refused'),
      later INT CONSTRAINT results_later UNIQUE DEFERRABLE INITIALLY DEFERRED);
    CREATE INDEX ON results (user_id);
    GRANT SELECT, INSERT ON results TO PUBLIC`)
}

/** The text "refused" violates a constraint. */
export function storeResult(runId: string, owner: string, text: string): Statement {
  return { text: "INSERT INTO results (run_id, user_id, text) VALUES ($1, $2, $3)", values: [runId, owner, text] }
}

/** At the end of the response of a run that stores a result. */
export const storedMark = ", stored"

/** The runs of accounts that have a result and no charge, or a charge and no result. */
export async function findUnpaired(database: Pick<Pool, "query">, owners: readonly string[]): Promise<string[]> {
  const { rows } = await database.query<{ id: string }>({
    name: "find-unpaired",
    text: `SELECT id FROM runs r WHERE user_id = ANY ($1)
             AND (state = 'settled' AND response_body LIKE '%' || $2) <> EXISTS (SELECT FROM results WHERE run_id = r.id)
           UNION ALL
           SELECT run_id FROM results WHERE user_id = ANY ($1) AND NOT EXISTS (SELECT FROM runs WHERE id = run_id)`,
    values: [owners, storedMark],
  })
  return rows.map(({ id }) => id)
}
