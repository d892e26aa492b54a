import { pool } from "@/lib/platform/postgres/pool"
import { countedUsage } from "@/lib/platform/postgres/request-sums"
import type { ListedKey } from "./data"

export type Predecessor = Pick<ListedKey, "id" | "start" | "lastUsedAt"> & { expiresAt: Date; use: PredecessorUse }

type PredecessorUse =
  | "never"
  | "successor_unused"
  /** The successor was used after it; it may be used again. */
  | "recent"
  /** The successor was used after it, and it has been unused for longer than usual. */
  | "no_longer"

/** By hours: from the first to the last hour with a request, and the longest gap in between. */
export type UsualUse = { spanMs: number; longestGapMs: number }

const hourMs = 3_600_000
const dayMs = 24 * hourMs

// The last use is recorded at most once a minute.
const recordedEveryMs = 60_000

/** @param usual undefined if the log has no use of the key */
export function assessUse(
  { lastUsedAt }: Pick<ListedKey, "lastUsedAt">,
  successor: Pick<ListedKey, "lastUsedAt">,
  usual: UsualUse | undefined,
  now: Date,
): PredecessorUse {
  if (!lastUsedAt) return "never"
  if (!successor.lastUsedAt || successor.lastUsedAt <= lastUsedAt) return "successor_unused"
  const silentMs = now.getTime() - lastUsedAt.getTime() - recordedEveryMs
  return silentMs > longestSilence(usual) ? "no_longer" : "recent"
}

/** Less than a day of use may be the first day of a daily job. Hours that are n apart have uses up to n + 1 apart. */
function longestSilence({ spanMs, longestGapMs }: UsualUse = { spanMs: 0, longestGapMs: 0 }): number {
  return spanMs < dayMs ? dayMs : longestGapMs + hourMs
}

const usualUse = {
  name: "usual-use-of-keys",
  text: `
    SELECT key_id AS id, 1000 * extract(epoch FROM max(created_at) - min(created_at))::float8 AS "spanMs",
           1000 * coalesce(extract(epoch FROM max(gap)), 0)::float8 AS "longestGapMs"
    FROM (
      SELECT key_id, created_at, created_at - lag(created_at) OVER (PARTITION BY key_id ORDER BY created_at) AS gap
      FROM ${countedUsage} counted WHERE key_id = ANY ($1::uuid[]) AND unit = 'hour' AND requests + unlogged > 0) hours
    GROUP BY key_id`,
}

export async function findUsualUse(keyIds: readonly string[]): Promise<Map<string, UsualUse>> {
  if (keyIds.length === 0) return new Map()
  const { rows } = await pool().query<UsualUse & { id: string }>({ ...usualUse, values: [keyIds] })
  return new Map(rows.map(({ id, ...usual }) => [id, usual]))
}
