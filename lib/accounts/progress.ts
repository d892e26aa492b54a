import type { OwnerId } from "@/lib/authority/owner"
import { db } from "@/lib/platform/postgres/prisma"

export type Progress = { hasVerified: boolean; hasKey: boolean; hasCalled: boolean }

export async function progressOf(owner: OwnerId): Promise<Progress> {
  const [found] = await db().$queryRaw<[Progress]>`
    SELECT (SELECT email_verified IS NOT NULL FROM users WHERE id = ${owner}::uuid) AS "hasVerified",
      count(*) > 0 AS "hasKey", count(last_used_at) > 0 AS "hasCalled"
    FROM api_keys WHERE user_id = ${owner}::uuid AND surface = 'user'`
  return found
}
