import { Prisma } from "@/generated/prisma/client"
import { idIn, lockAccounts } from "@/lib/authority/authority"
import { notExpired, type RevokedKey, revoke } from "@/lib/keys/mutations"
import { notifyOwnersOfLeakedKey } from "@/lib/keys/owner-notices"
import { hashSecret, keysIn } from "@/lib/keys/secret"
import { sendEmail } from "@/lib/platform/email/send"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { finishIfExiting, inBackground, isLaneFull } from "@/lib/platform/queues/background"
import { log } from "@/lib/platform/telemetry/log"
import { kinds } from "@/lib/surfaces"

const revocations = "leaked keys"
/** A separate lane: a mail server may be slow, and revocations do not wait for it. */
const emails = "emails about leaked keys"

export function isReportRefused(): boolean {
  return isLaneFull(revocations)
}

/** Revokes after the response. A repeated report changes nothing. */
export async function reportLeaks(texts: readonly string[]): Promise<void> {
  const hashes = texts.flatMap(keysIn).map(hashSecret)
  inBackground(revocations, () => revokeAll(hashes))
  await finishIfExiting()
}

export async function issuedAmong(texts: readonly string[]): Promise<string[]> {
  const byHash = new Map<string, string[]>()
  for (const text of texts) {
    for (const key of keysIn(text)) {
      const hex = hashSecret(key).toString("hex")
      byHash.set(hex, [...(byHash.get(hex) ?? []), text])
    }
  }
  const found = "SELECT encode(hash, 'hex') AS hash FROM api_keys WHERE hash = ANY($1)"
  const hashes = [...byHash.keys()].map((hex) => Buffer.from(hex, "hex"))
  const { rows } = await pool().query<{ hash: string }>(found, [hashes])
  return rows.flatMap(({ hash }) => byHash.get(hash) ?? [])
}

async function revokeAll(hashes: readonly Buffer[]): Promise<void> {
  // A key that was replaced goes first: with its successor it would be revoked too, but not as leaked.
  const found =
    "SELECT id, user_id FROM api_keys WHERE hash = ANY($1) AND revoked_at IS NULL ORDER BY successor_id NULLS LAST"
  const { rows } = await pool().query<{ id: string; user_id: string }>(found, [hashes])
  for (const { id, user_id: ownerId } of rows) {
    const leak = await revokeLeaked(id, ownerId)
    if (!leak) continue
    log().warn({ keyId: id }, "key_leaked")
    if (isLaneFull(emails)) await tell(leak)
    else inBackground(emails, () => tell(leak))
  }
}

type Leak = { key: RevokedKey; predecessor: RevokedKey | undefined; owner: { id: string; email: string } }

function revokeLeaked(id: string, ownerId: string): Promise<Leak | undefined> {
  return db().$transaction(async (transaction): Promise<Leak | undefined> => {
    // The lock under which keys are issued, rotated and changed.
    const [owner] = await lockAccounts(transaction, idIn(ownerId))
    const revokeWorking = (which: Prisma.Sql, reason: "leaked" | "other") =>
      revoke(transaction, null, [ownerId], Prisma.sql`${which} AND ${notExpired}`, reason, { via: "leak report" })
    const [key] = await revokeWorking(Prisma.sql`id = ${id}::uuid`, "leaked")
    if (!key || !owner) return undefined
    const [predecessor] = await revokeWorking(Prisma.sql`successor_id = ${id}::uuid`, "other")
    return { key, predecessor, owner }
  })
}

/** Never throws: the key is revoked already. */
async function tell({ key, predecessor, owner }: Leak): Promise<void> {
  await sendEmail(owner, "key_leaked", { ...key, predecessor: predecessor?.start ?? null })
  if (kinds[key.surface].reportedToOwners) await notifyOwnersOfLeakedKey(owner, key)
}
