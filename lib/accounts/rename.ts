import { z } from "zod"
import { audit } from "@/lib/audit/entries"
import type { OwnerId } from "@/lib/authority/owner"
import { db } from "@/lib/platform/postgres/prisma"
import { consume } from "@/lib/platform/rate-limit/rate-limit"
import { plainText } from "@/lib/platform/schemas/text"

export const renameForm = z.strictObject({ name: plainText({ name: "Name", max: 100 }) })

type RenameResult = { ok: true } | { ok: false; reason: "too_many"; retryAfterSeconds: number }

export async function renameAccount(id: OwnerId, { name }: z.output<typeof renameForm>): Promise<RenameResult> {
  const verdict = await consume("renamesAccount", id)
  if (!verdict.allowed) return { ok: false, reason: "too_many", retryAfterSeconds: verdict.resetSeconds }
  await db().$transaction(async (transaction) => {
    const { count } = await transaction.user.updateMany({ where: { id, name: { not: name } }, data: { name } })
    if (count === 0) return
    await audit(transaction, { actorId: id, action: "user.renamed", targetType: "user", targetId: id })
  })
  return { ok: true }
}
