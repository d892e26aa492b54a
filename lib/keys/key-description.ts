import { findSpending } from "@/lib/credits/spending"
import { pool } from "@/lib/platform/postgres/pool"
import type { Surface } from "@/lib/surfaces"

type OwnKey = {
  id: string
  name: string
  start: string
  surface: Surface
  createdAt: Date
  expiresAt: Date | null
  predecessorId: string | null
  successorId: string | null
}

const findKeyById = {
  name: "find-key-by-id",
  text: `
    SELECT k.id, k.name, k.start, k.surface, k.created_at AS "createdAt", k.expires_at AS "expiresAt",
           k.successor_id AS "successorId", p.id AS "predecessorId"
    FROM api_keys k LEFT JOIN api_keys p ON p.successor_id = k.id WHERE k.id = $1`,
}

export async function describeKey({ id, has_spend_limit: hasLimit }: { id: string; has_spend_limit: boolean }) {
  const [{ rows }, spending] = await Promise.all([
    pool().query<OwnKey>({ ...findKeyById, values: [id] }),
    hasLimit ? findSpending([id]) : undefined,
  ])
  return { ...rows[0], spending: spending?.get(id) ?? null }
}
