import { randomUUID } from "node:crypto"
import { asManager, type ChangeResult } from "@/lib/accounts/mutations"
import { audit } from "@/lib/audit/entries"
import type { Owner, OwnerId } from "@/lib/authority/owner"
import { holds } from "@/lib/permissions"
import { maxPictureBytes } from "@/lib/platform/http/body-limits"
import { db, type Transaction } from "@/lib/platform/postgres/prisma"
import { consume } from "@/lib/platform/rate-limit/rate-limit"
import { thumbnailOf } from "./thumbnail"
import type { Outcome } from "./upload"

/** @param read is called only if the account has not uploaded too many */
export async function savePicture(id: OwnerId, read: () => Promise<Blob | null>): Promise<Outcome> {
  if (!(await consume("picturesAccount", id)).allowed) return "too_many"
  const file = await read()
  if (!file?.size) return "no_file"
  if (file.size > maxPictureBytes) return "too_large"
  const thumbnail = await thumbnailOf(new Uint8Array(await file.arrayBuffer()), id)
  if (!thumbnail.ok) return thumbnail.reason
  const picture = { version: randomUUID(), image: thumbnail.image, createdAt: new Date() }
  await db().$transaction(async (transaction) => {
    await transaction.userPicture.upsert({ where: { userId: id }, create: { userId: id, ...picture }, update: picture })
    await audit(transaction, { actorId: id, action: "user.picture_changed", targetType: "user", targetId: id })
  })
  return "saved"
}

export async function removePicture(id: OwnerId): Promise<void> {
  await db().$transaction((transaction) => removeIn(transaction, id, id))
}

export function removePictureOf(actorId: OwnerId, targetId: string): Promise<ChangeResult> {
  return asManager(actorId, targetId, async (transaction, { target }): Promise<ChangeResult> => {
    return { ok: true, changed: await removeIn(transaction, actorId, target.id), account: target }
  })
}

async function removeIn(transaction: Transaction, actorId: OwnerId, userId: string): Promise<boolean> {
  const { count } = await transaction.userPicture.deleteMany({ where: { userId } })
  if (count === 0) return false
  await audit(transaction, { actorId, action: "user.picture_removed", targetType: "user", targetId: userId })
  return true
}

export async function findPicture(
  version: string,
  { id, role }: Pick<Owner, "id" | "role">,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const where = holds(role, "users.read") ? { version } : { version, userId: id }
  return (await db().userPicture.findUnique({ where, select: { image: true } }))?.image
}
