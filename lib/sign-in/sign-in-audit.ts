import { audit } from "@/lib/audit/entries"
import type { OwnerId } from "@/lib/authority/owner"
import { db } from "@/lib/platform/postgres/prisma"
import { log } from "@/lib/platform/telemetry/log"
import type { SecondFactor, SignInMethod } from "./session-rows"

export async function auditSignIn(
  userId: string,
  via: SignInMethod,
  address: string,
  factor?: SecondFactor,
): Promise<void> {
  const details = { via, address, ...(factor && { factor }) }
  await audit(db(), { actorId: userId, action: "user.signed_in", targetType: "user", targetId: userId, details })
}

/** The actor is unknown. Never throws. */
export async function auditFailedSignIn(
  userId: string,
  details: { via: SignInMethod; address: string; reason: "wrong" | "suspended" | "second factor" },
): Promise<void> {
  const entry = { actorId: null, action: "user.sign_in_failed", targetType: "user", targetId: userId, details } as const
  await audit(db(), entry).catch((error) => log().error({ why: String(error) }, "failed_sign_in_not_audited"))
}

/** The actor is unknown, too: the session may be stolen. Never throws. */
export async function auditFailedProof(userId: OwnerId, details: { method: string; address: string }): Promise<void> {
  const entry = { actorId: null, action: "user.proof_failed", targetType: "user", targetId: userId, details } as const
  await audit(db(), entry).catch((error) => log().error({ why: String(error) }, "failed_proof_not_audited"))
}

export async function auditSignOut(userId: OwnerId): Promise<void> {
  await audit(db(), { actorId: userId, action: "user.signed_out", targetType: "user", targetId: userId })
}
