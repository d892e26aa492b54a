import { randomUUID } from "node:crypto"
import { idIn, lockAccounts } from "@/lib/authority/authority"
import type { OwnerId } from "@/lib/authority/owner"
import { db } from "@/lib/platform/postgres/prisma"
import { type SoldPlan, soldPlan } from "@/lib/purchases/sold-plans"
import { type CurrentSubscription, currentSubscription } from "@/lib/purchases/subscriptions"
import { receive } from "./booking"
import { findOpenPlan } from "./checkouts"
import { ProviderRefused, ProviderUnavailable } from "./errors"
import type { Concern, PaymentProvider } from "./provider"

/** The open subscription of an account, and its object at the provider; null for one that was not bought there. */
export type OwnPlan = { subscription: CurrentSubscription; objectId: string | null; next: SoldPlan | null }

export async function ownPlan(provider: PaymentProvider["name"], owner: OwnerId): Promise<OwnPlan | null> {
  const subscription = await currentSubscription(owner)
  if (!subscription) return null
  const object = await db().providerObject.findFirst({ where: { provider, subscriptionId: subscription.id } })
  // Also one that is no longer sold.
  const next = object?.nextPlan ? await db().plan.findUnique({ where: { id: object.nextPlan } }) : null
  return { subscription, objectId: object?.id ?? null, next }
}

/** `due` is an estimate: the provider counts the seconds. Credits are the difference to the unused time. */
export type Change = { plan: SoldPlan; at: "now" | "period_end"; due: number; credits: number }

const obstacles = ["not_bought_here", "not_sold", "same", "other_currency", "past_due", "ending"] as const

export type Obstacle = (typeof obstacles)[number]

/** Up at once, and down at the end of the period, so that nothing that is paid is lost. */
export function changeOf(own: OwnPlan, planId: string, now = new Date()): Change | Obstacle {
  const { subscription, objectId, next } = own
  const plan = soldPlan(planId)
  if (!objectId) return "not_bought_here"
  if (!plan) return "not_sold"
  // A change down is taken back by endPlan.
  if (plan.id === next?.id || plan.id === subscription.planId) return "same"
  if (plan.currency !== subscription.currency) return "other_currency"
  if (subscription.status === "past_due") return "past_due"
  if (subscription.cancelAtPeriodEnd) return "ending"
  if (!isUp(subscription, plan)) return { plan, at: "period_end", due: 0, credits: 0 }
  const unused = unusedPart(subscription, now)
  const left = Math.round(subscription.amount * unused)
  return {
    plan,
    at: "now",
    due: Math.max(0, plan.amount - left),
    credits: Math.max(0, plan.credits - Math.round(subscription.planCredits * unused)),
  }
}

function isUp(current: CurrentSubscription, to: SoldPlan): boolean {
  const months = (interval: string) => (interval === "year" ? 12 : 1)
  if (months(to.interval) < months(current.interval)) return false
  const monthly = (credits: number, interval: string) => credits / months(interval)
  if (monthly(to.credits, to.interval) < monthly(current.planCredits, current.interval)) return false
  return to.amount > current.amount
}

function unusedPart({ currentPeriodStart, currentPeriodEnd }: CurrentSubscription, now: Date): number {
  const [start, end] = [new Date(currentPeriodStart).getTime(), currentPeriodEnd.getTime()]
  return Math.min(1, Math.max(0, (end - now.getTime()) / (end - start)))
}

export type Changed =
  | { ok: true; change: Change; isBooked: boolean }
  | { ok: false; reason: Obstacle | "no_plan" | "not_active" | "changing" }

/**
 * One at a time: of two at once, the second one would be decided by the plan before the first one, so that a change down
 * returns the price at once and leaves the credits.
 * @throws PaymentDeclined and ProviderUnavailable
 */
export async function changePlan(provider: PaymentProvider, owner: OwnerId, planId: string): Promise<Changed> {
  if (!soldPlan(planId)) return { ok: false, reason: "not_sold" }
  const id = await claim(owner, planId)
  if (!id) return { ok: false, reason: "changing" }
  try {
    return await changeClaimed(provider, owner, planId)
  } finally {
    await db().checkout.update({ where: { id }, data: { endedAt: new Date() } })
  }
}

/** Like a checkout that is starting, which ends after five minutes if its process dies. */
function claim(userId: OwnerId, planId: string): Promise<string | null> {
  return db().$transaction(async (transaction) => {
    await lockAccounts(transaction, idIn(userId))
    if (await findOpenPlan(transaction, userId)) return null
    return (await transaction.checkout.create({ data: { id: randomUUID(), userId, planId } })).id
  })
}

async function changeClaimed(provider: PaymentProvider, owner: OwnerId, planId: string): Promise<Changed> {
  // The last change may not be booked.
  const known = (await ownPlan(provider.name, owner))?.objectId
  if (known) await receive(provider, { eventId: null, concerns: [{ kind: "subscription", id: known }] })
  const own = await ownPlan(provider.name, owner)
  if (!own) return { ok: false, reason: "no_plan" }
  if (!(await isActive(owner))) return { ok: false, reason: "not_active" }
  const change = changeOf(own, planId)
  if (typeof change === "string") return { ok: false, reason: change }
  const { objectId } = own
  if (!objectId) return { ok: false, reason: "not_bought_here" }
  const { name, amount, currency, interval } = change.plan
  const to = { plan: change.plan.id, name, amount, currency, interval }
  const made = await provider.change(objectId, to, change.at)
  const paid = made ? [{ kind: "payment", id: made } as const] : []
  return { ok: true, change, isBooked: await bookNow(provider, [{ kind: "subscription", id: objectId }, ...paid]) }
}

export type Ended =
  | { ok: true; isBooked: boolean }
  | { ok: false; reason: "no_plan" | "not_bought_here" | "not_active" }

/** `never` resumes the plan, and takes back a change at the end of the period. @throws ProviderUnavailable */
export async function endPlan(provider: PaymentProvider, owner: OwnerId, at: "period_end" | "never"): Promise<Ended> {
  const own = await ownPlan(provider.name, owner)
  if (!own) return { ok: false, reason: "no_plan" }
  if (!own.objectId) return { ok: false, reason: "not_bought_here" }
  if (at === "never" && !(await isActive(owner))) return { ok: false, reason: "not_active" }
  await provider.cancel(own.objectId, at)
  return { ok: true, isBooked: await bookNow(provider, [{ kind: "subscription", id: own.objectId }]) }
}

async function isActive(id: OwnerId): Promise<boolean> {
  return (await db().user.count({ where: { id, status: "active" } })) > 0
}

/** Before the page shows the plan: the event may arrive later. @returns false if the provider went away */
async function bookNow(provider: PaymentProvider, concerns: readonly Concern[]): Promise<boolean> {
  try {
    return await receive(provider, { eventId: null, concerns })
  } catch (error) {
    if (error instanceof ProviderUnavailable || error instanceof ProviderRefused) return false
    throw error
  }
}
