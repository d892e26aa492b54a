import { audit } from "@/lib/audit/entries"
import { db } from "@/lib/platform/postgres/prisma"
import { hashOf, newToken } from "@/lib/sign-in/link-token"
import type { Viewer } from "@/lib/sign-in/session-rows"

const minutes = 5

/** For one export. @returns the token; the session keeps its hash */
export async function allowExport({ sessionId }: Viewer): Promise<string> {
  const token = newToken()
  await db().$executeRaw`
    UPDATE sessions SET exporting = ${stored(token)}, exporting_until = now() + make_interval(mins => ${minutes})
    WHERE id = ${sessionId}::uuid`
  return token
}

export function consumeExport({ id, sessionId }: Viewer, token: string, address: string): Promise<boolean> {
  return db().$transaction(async (transaction) => {
    const consumed = await transaction.$executeRaw`
      UPDATE sessions SET exporting = NULL, exporting_until = NULL
      WHERE id = ${sessionId}::uuid AND user_id = ${id}::uuid AND exporting = ${stored(token)} AND exporting_until > now()`
    if (consumed === 0) return false
    const entry = { actorId: id, action: "user.exported", targetType: "user", targetId: id } as const
    await audit(transaction, { ...entry, details: { address } })
    return true
  })
}

function stored(token: string): Buffer {
  return Buffer.from(hashOf(token), "hex")
}
