import { randomUUID } from "node:crypto"
import { z } from "zod"
import { audit } from "@/lib/audit/entries"
import type { OwnerId } from "@/lib/authority/owner"
import { db, type Transaction } from "@/lib/platform/postgres/prisma"
import { hidden } from "@/lib/platform/schemas/form-fields"
import type { PaymentProvider } from "./provider"
import { workRequest } from "./requests"
import { asBillingStaff, reason, type StaffRefusal } from "./staff"

export const cancellationForm = z.object({
  id: hidden(z.uuid()),
  at: z.enum(["period_end", "now"], "Choose when it ends."),
  reason,
})

export type CancellationForm = z.output<typeof cancellationForm>

export type CancellationResult =
  /** `changed` is false if it already ends then; `made` is false while the provider has not done it. */
  { ok: true; changed: boolean; made: boolean } | { ok: false; reason: StaffRefusal | "no_provider" }

type Requested = CancellationResult & { request?: string }

/** Through the provider, if the subscription is there. It repeats what it cannot do at once. */
export async function cancelSubscription(
  provider: PaymentProvider | null,
  actorId: OwnerId,
  form: CancellationForm,
): Promise<CancellationResult> {
  const found = await db().subscription.findUnique({ where: { id: form.id }, select: { userId: true } })
  const requested = await asBillingStaff(actorId, found?.userId, (transaction) =>
    request(transaction, provider, actorId, form),
  )
  if (!requested.ok || !("request" in requested)) return requested
  const { request: id, ...result } = requested
  return provider && id ? { ...result, made: await workRequest(provider, id) } : result
}

async function request(
  transaction: Transaction,
  provider: PaymentProvider | null,
  actorId: OwnerId,
  { id, at, reason }: CancellationForm,
): Promise<Requested> {
  const { userId, status, cancelAtPeriodEnd } = await transaction.subscription.findUniqueOrThrow({ where: { id } })
  if (status === "canceled" || (at === "period_end" && cancelAtPeriodEnd))
    return { ok: true, changed: false, made: true }
  const object = await transaction.providerObject.findFirst({ where: { subscriptionId: id, kind: "subscription" } })
  if (object && object.provider !== provider?.name) return { ok: false, reason: "no_provider" }
  const details = { subscriptionId: id, at, reason }
  const entry = { actorId, action: "subscription.canceled", targetType: "user", targetId: userId, details } as const
  if (!object) {
    const ended = { status: "canceled", canceledAt: new Date(), cancelAtPeriodEnd: false } as const
    await transaction.subscription.update({ where: { id }, data: at === "now" ? ended : { cancelAtPeriodEnd: true } })
    await audit(transaction, entry)
    return { ok: true, changed: true, made: true }
  }
  const action = at === "now" ? "cancel_now" : "cancel_at_period_end"
  const waiting = { provider: object.provider, objectId: object.id, action, doneAt: null } as const
  const earlier = await transaction.providerRequest.findFirst({ where: waiting })
  if (earlier) return { ok: true, changed: false, made: false, request: earlier.id }
  const { id: made } = await transaction.providerRequest.create({ data: { ...waiting, id: randomUUID(), userId } })
  await audit(transaction, entry)
  return { ok: true, changed: true, made: false, request: made }
}
