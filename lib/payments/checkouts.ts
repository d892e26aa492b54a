import { randomUUID } from "node:crypto"
import { idIn, lockAccounts } from "@/lib/authority/authority"
import type { OwnerId } from "@/lib/authority/owner"
import { inCredits } from "@/lib/credits/words"
import { env } from "@/lib/env"
import { db, type Transaction } from "@/lib/platform/postgres/prisma"
import { log } from "@/lib/platform/telemetry/log"
import { creditPacks, planCurrencies } from "@/lib/product"
import type { SoldPlan } from "@/lib/purchases/sold-plans"
import { ProviderUnavailable } from "./errors"
import type { CheckoutOrder, PaymentProvider } from "./provider"
import { planPage } from "./top-up"

// The product decides about prices and terms. A checkout starts under the lock of its account, and the provider is asked
// after it.

export type Pack = (typeof creditPacks)[number] & { currency: string }

type Refused =
  | { ok: false; reason: "not_active" | "subscribed" | "starting" }
  | { ok: false; reason: "other_open"; planId: string }

export type Started = { ok: true; url: string } | Refused

/** The provider closes a page that is not paid after a day. */
const openHours = 24

/** After this time, the process that asked the provider has died. */
const startingMs = 5 * 60_000

/** Undefined for a pack that is not sold. */
export function soldPack(credits: number, currency: string): Pack | undefined {
  const pack = creditPacks.find((pack) => pack.credits === credits)
  return pack && planCurrencies.includes(currency) ? { ...pack, currency } : undefined
}

export async function startCheckout(
  provider: PaymentProvider,
  { id: userId, email }: { id: OwnerId; email: string },
  offer: SoldPlan | Pack,
): Promise<Started> {
  const started = await db().$transaction(async (transaction): Promise<NewCheckout | Started> => {
    const [account] = await lockAccounts(transaction, idIn(userId))
    if (account?.status !== "active") return { ok: false, reason: "not_active" }
    return "id" in offer ? startPlan(transaction, userId, offer) : startPack(transaction, userId, offer)
  })
  if ("ok" in started) return started
  const { id, saveCard } = started
  const customer = await customerOf(provider.name, userId)
  try {
    const { url } = await provider.checkout({ ...orderOf(offer, id, userId), email, saveCard, customer })
    await db().checkout.update({ where: { id }, data: { url } })
    return { ok: true, url }
  } catch (error) {
    // Nobody knows the address of a page that was made after all. The order of a pack fails after a day.
    await db().checkout.updateMany({ where: { id, planId: { not: null } }, data: { endedAt: new Date() } })
    throw error
  }
}

type NewCheckout = { id: string; saveCard: boolean }

async function startPlan(
  transaction: Transaction,
  userId: string,
  { id: planId }: SoldPlan,
): Promise<NewCheckout | Started> {
  const subscriptions = await transaction.subscription.count({ where: { userId, status: { not: "canceled" } } })
  if (subscriptions > 0) return { ok: false, reason: "subscribed" }
  const open = await findOpenPlan(transaction, userId)
  if (open && !open.url) return { ok: false, reason: "starting" }
  if (open?.url && open.planId === planId) return { ok: true, url: open.url }
  if (open?.planId) return { ok: false, reason: "other_open", planId: open.planId }
  const { id } = await transaction.checkout.create({ data: { id: randomUUID(), userId, planId } })
  return { id, saveCard: false }
}

/** Opens the page of a pending order for the same pack again, instead of one order for each visit. */
async function startPack(transaction: Transaction, userId: string, pack: Pack): Promise<NewCheckout | Started> {
  const { credits, amount, currency } = pack
  const saveCard = (await transaction.topUp.count({ where: { userId } })) > 0
  const [open] = await transaction.$queryRaw<{ url: string }[]>`
    SELECT url FROM checkouts c JOIN orders o USING (id)
    WHERE c.user_id = ${userId}::uuid AND c.ended_at IS NULL AND NOT is_automatic AND url IS NOT NULL
      AND c.created_at > now() - make_interval(hours => ${openHours - 1})
      AND status = 'pending' AND o.credits = ${credits} AND amount = ${amount} AND currency = ${currency}
      AND NOT EXISTS (SELECT FROM provider_objects p WHERE p.order_id = o.id)
    ORDER BY c.created_at DESC LIMIT 1`
  if (open && !saveCard) return { ok: true, url: open.url }
  const id = await createPackOrder(transaction, userId, pack, false)
  return { id, saveCard }
}

/** The terms of now, which the purchase keeps. */
export async function createPackOrder(
  transaction: Transaction,
  userId: string,
  { credits, amount, currency }: Pack,
  isAutomatic: boolean,
): Promise<string> {
  const id = randomUUID()
  const terms = { amount, currency, credits, description: inCredits(credits) }
  await transaction.order.create({ data: { id, userId, kind: "credits", status: "pending", ...terms } })
  await transaction.checkout.create({ data: { id, userId, isAutomatic } })
  return id
}

export type OpenCheckout = { id: string; planId: string; url: string | null }

/** A checkout is over once the provider has reported a subscription of its account. One without a page is being opened. */
export async function findOpenPlan(
  transaction: Pick<Transaction, "$queryRaw">,
  userId: string,
): Promise<OpenCheckout | undefined> {
  const [open] = await transaction.$queryRaw<OpenCheckout[]>`
    SELECT id, plan_id AS "planId", url FROM checkouts c
    WHERE user_id = ${userId}::uuid AND plan_id IS NOT NULL AND ended_at IS NULL
      AND created_at > now() - make_interval(hours => ${openHours})
      AND CASE WHEN url IS NULL THEN created_at > now() - make_interval(secs => ${startingMs / 1000}) ELSE NOT EXISTS (
        SELECT FROM provider_objects o
        WHERE o.user_id = c.user_id AND o.kind = 'subscription' AND o.created_at >= c.created_at) END
    ORDER BY created_at DESC LIMIT 1`
  return open
}

/** The account wants another plan than the one of its open checkout. */
export async function leaveCheckout(provider: PaymentProvider, userId: OwnerId): Promise<void> {
  const open = await findOpenPlan(db(), userId)
  if (!open?.url) return
  await provider.leave(open.url)
  await db().checkout.update({ where: { id: open.id }, data: { endedAt: new Date() } })
}

/** Of accounts that were closed or banned since. @returns how many were closed at the provider */
export async function leaveCheckouts(provider: PaymentProvider): Promise<number> {
  const open = await db().$queryRaw<{ id: string; url: string }[]>`
    SELECT c.id, url FROM checkouts c JOIN users ON users.id = c.user_id
    WHERE ended_at IS NULL AND url IS NOT NULL AND status <> 'active' ORDER BY c.created_at LIMIT 100`
  let left = 0
  for (const { id, url } of open) {
    try {
      await provider.leave(url)
      await db().$transaction([
        db().$executeRaw`
          UPDATE orders SET status = 'failed' WHERE status = 'pending' AND id = ${id}::uuid
            AND NOT EXISTS (SELECT FROM provider_objects p WHERE p.order_id = orders.id)`,
        db().checkout.update({ where: { id }, data: { endedAt: new Date() } }),
      ])
      left++
    } catch (error) {
      // The next round tries again. A payment until then is refunded.
      log().warn({ checkoutId: id, why: String(error) }, "checkout_not_closed")
      if (error instanceof ProviderUnavailable) break
    }
  }
  return left
}

export async function customerOf(provider: string, userId: string): Promise<string | null> {
  const customer = await db().providerCustomer.findFirst({
    where: { provider, userId },
    orderBy: { createdAt: "desc" },
  })
  return customer?.id ?? null
}

export function orderOf(
  offer: SoldPlan | Pack,
  id: string,
  account: string,
): Pick<CheckoutOrder, "id" | "account" | "line" | "plan" | "credits" | "returnTo"> {
  const { amount, currency, credits } = offer
  const returnTo = `${env().BASE_URL}${planPage}`
  if (!("id" in offer)) {
    return { id, account, line: { name: inCredits(credits), amount, currency }, plan: null, credits, returnTo }
  }
  const { name, interval } = offer
  return { id, account, line: { name, amount, currency, interval }, plan: offer.id, credits, returnTo }
}

/** Orders of packs that were never paid. One that is paid later is paid. @returns how many have failed */
export async function endCheckouts(): Promise<number> {
  const failed = await db().$executeRaw`
    UPDATE orders SET status = 'failed' WHERE status = 'pending' AND id IN (
      SELECT id FROM checkouts c WHERE ended_at IS NULL AND NOT is_automatic
        AND created_at < now() - make_interval(hours => ${openHours + 1})
        AND NOT EXISTS (SELECT FROM provider_objects p WHERE p.order_id = c.id))`
  await db().$executeRaw`
    UPDATE checkouts SET ended_at = now() WHERE ended_at IS NULL AND NOT is_automatic
      AND created_at < now() - make_interval(hours => ${openHours + 1})`
  await db().$executeRaw`DELETE FROM checkouts WHERE created_at < now() - interval '90 days'`
  return failed
}
