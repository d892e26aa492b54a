import { z } from "zod"
import { Prisma } from "@/generated/prisma/client"
import { audit } from "@/lib/audit/entries"
import { hidden, requestId } from "@/lib/platform/schemas/form-fields"
import type { Viewer } from "@/lib/sign-in/session-rows"
import type { Surface } from "@/lib/surfaces"
import { type Grace, graces } from "./choices"
import { stateOf } from "./data"
import { asIssuer, createKey, type IssuedKey, type NotIssued, revoke, withoutEmptyLists } from "./mutations"

export const rotationForm = z.strictObject({
  id: hidden(z.uuid()),
  requestId,
  grace: z.enum(Object.keys(graces) as [Grace, ...Grace[]], { error: "Choose how long the old key keeps working." }),
})

export type Rotation = z.output<typeof rotationForm>

export type RotateResult =
  | (IssuedKey & { name: string; mayRun: boolean; oldStart: string; oldWorksUntil: Date | null })
  | NotIssued
  | { ok: false; reason: "not_found" | "ended" | "already_rotated" }
  /** There is one predecessor at a time. */
  | { ok: false; reason: "predecessor_works"; until: Date }

/**
 * The new key has the old one's original lifetime. The old key never ends later than before; a leaked one is revoked
 * with its own predecessor. Both keys share one spending limit.
 */
export function rotateKey(surface: Surface, viewer: Viewer, { id, requestId, grace }: Rotation): Promise<RotateResult> {
  return asIssuer(viewer, requestId, async (transaction, now): Promise<RotateResult> => {
    const found = await transaction.apiKey.findFirst({
      where: { id, surface, userId: viewer.id },
      include: { predecessors: true },
    })
    if (!found) return { ok: false, reason: "not_found" }
    const { predecessors, ...old } = found
    if (old.successorId) return { ok: false, reason: "already_rotated" }
    if (stateOf(old, now) !== "active") return { ok: false, reason: "ended" }
    const works = predecessors.find((predecessor) => stateOf(predecessor, now) === "active")
    if (works?.expiresAt && grace !== "leaked") {
      return { ok: false, reason: "predecessor_works", until: works.expiresAt }
    }
    const lifetime = old.expiresAt && old.expiresAt.getTime() - old.createdAt.getTime()
    const { name, requestsPerMinute, spendLimit, spendPeriod } = old
    const issued = await createKey(transaction, viewer.id, {
      surface,
      name,
      requestId,
      createdAt: now,
      expiresAt: lifetime === null ? null : new Date(now.getTime() + lifetime),
      rootId: old.rootId ?? old.id,
      requestsPerMinute,
      spendLimit,
      spendPeriod,
      ...withoutEmptyLists({ scopes: old.scopes, allowedCidrs: old.allowedCidrs }),
    })
    const graceEnd = new Date(now.getTime() + graces[grace].hours * 3_600_000)
    const oldExpiresAt = old.expiresAt && old.expiresAt < graceEnd ? old.expiresAt : graceEnd
    await transaction.apiKey.update({ where: { id }, data: { successorId: issued.id, expiresAt: oldExpiresAt } })
    const details = { surface, start: old.start, successorId: issued.id, grace }
    await audit(transaction, {
      actorId: viewer.id,
      action: "api_key.rotated",
      targetType: "api_key",
      targetId: id,
      details,
    })
    if (grace === "leaked") {
      await revoke(transaction, viewer.id, [viewer.id], Prisma.sql`id = ${id}::uuid`, "leaked")
      if (works) await revoke(transaction, viewer.id, [viewer.id], Prisma.sql`id = ${works.id}::uuid`, "other")
    }
    const oldWorksUntil = graces[grace].hours > 0 ? oldExpiresAt : null
    const mayRun = old.scopes.length === 0 || old.scopes.includes("run")
    return { ...issued, name, mayRun, oldStart: old.start, oldWorksUntil }
  })
}
