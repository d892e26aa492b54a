import type { Order, TopUp } from "@/generated/prisma/client"
import { idIn, lockAccounts } from "@/lib/authority/authority"
import { left } from "@/lib/credits/notices"
import { inCredits } from "@/lib/credits/words"
import { sendEmail } from "@/lib/platform/email/send"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { log } from "@/lib/platform/telemetry/log"
import { receive } from "./booking"
import { createPackOrder, customerOf, orderOf, type Pack, soldPack } from "./checkouts"
import { PaymentDeclined, ProviderRefused, ProviderUnavailable } from "./errors"
import type { PaymentProvider } from "./provider"

// Automatic purchases. Only the sweeper makes them, so that no run waits. Each is decided under the lock of its account,
// and the order of the purchase before it keeps another one from starting.

/** The provider remembers an idempotency key for a day: after it, an attempt could charge twice. */
const retryHours = 20

/** @returns the number of purchases */
export async function topUpAccounts(provider: PaymentProvider): Promise<number> {
  let bought = 0
  try {
    await resumeWithOtherCards(provider)
    for (const id of await findDue()) if (await decide(id)) bought++
    for (const order of await findUnpaid()) await chargeAlone(provider, order)
  } catch (error) {
    // The next round tries again.
    if (!(error instanceof ProviderUnavailable)) throw error
    log().warn({ why: error.message }, "payment_provider_behind")
  }
  return bought
}

const due = `
  SELECT t.user_id AS id FROM top_ups t
  JOIN credit_accounts account ON account.user_id = t.user_id JOIN users ON users.id = t.user_id
  WHERE paused_at IS NULL AND balance < below AND ${left("t.user_id", "balance")} < below AND status = 'active'
    AND NOT EXISTS (
      SELECT FROM checkouts c JOIN orders o USING (id) WHERE c.user_id = t.user_id AND is_automatic AND o.status = 'pending')
    AND (SELECT count(*) FROM checkouts c JOIN orders o USING (id)
         WHERE c.user_id = t.user_id AND is_automatic AND o.status <> 'failed'
           AND c.created_at >= date_trunc('month', now(), 'UTC')) < max_per_month`

async function findDue(): Promise<string[]> {
  return (await pool().query<{ id: string }>(`${due} LIMIT 1000`)).rows.map(({ id }) => id)
}

/** Undefined if it is no longer sold, or costs more than when the customer saved it. */
export function agreedPack({ pack, currency, amount }: Agreed): Pack | undefined {
  const sold = soldPack(pack, currency)
  return sold && sold.amount <= (amount ?? sold.amount) ? sold : undefined
}

type Agreed = Pick<TopUp, "pack" | "currency" | "amount">

/** @returns whether an order was made */
async function decide(userId: string): Promise<boolean> {
  const decided = await db().$transaction(async (transaction) => {
    await lockAccounts(transaction, idIn(userId))
    const rows = await transaction.$queryRawUnsafe<unknown[]>(`${due} AND t.user_id = $1::uuid`, userId)
    const topUp = await transaction.topUp.findUnique({ where: { userId } })
    if (rows.length === 0 || !topUp) return undefined
    const pack = agreedPack(topUp)
    if (pack) await createPackOrder(transaction, userId, pack, true)
    else await transaction.topUp.update({ where: { userId }, data: { pausedAt: new Date() } })
    return { topUp, pack }
  })
  if (!decided) return false
  const { topUp, pack } = decided
  if (pack) return true
  const user = await db().user.findUniqueOrThrow({ where: { id: userId } })
  await sendEmail(user, "top_up_paused", { credits: inCredits(topUp.pack) })
  return false
}

/** Just made, or left by an attempt that failed without a result. */
function findUnpaid(): Promise<Unpaid[]> {
  return db().$queryRaw`
    SELECT o.id, o.user_id AS "userId", o.amount, o.currency, o.credits, o.status = 'pending' AS "isPending",
      c.created_at < now() - make_interval(hours => ${retryHours}) AS "isOld",
      users.status = 'active' AND EXISTS (
        SELECT FROM top_ups t WHERE t.user_id = users.id AND NOT is_returned) AS "isWanted"
    FROM checkouts c JOIN orders o USING (id) JOIN users ON users.id = o.user_id
    WHERE c.ended_at IS NULL AND is_automatic ORDER BY c.created_at LIMIT 100`
}

/** `isWanted` is false once the account has turned it off, got money back, or was banned or closed, while the provider was away. */
type Unpaid = Pick<Order, "id" | "userId" | "amount" | "currency" | "credits"> & {
  isPending: boolean
  isOld: boolean
  isWanted: boolean
}

/** A refused purchase of one account must not stop the others. It is tried again until it is too old. */
async function chargeAlone(provider: PaymentProvider, order: Unpaid): Promise<void> {
  try {
    await charge(provider, order)
  } catch (error) {
    if (error instanceof ProviderUnavailable) throw error
    logFailed(order.id, error)
  }
}

function logFailed(orderId: string, error: unknown): void {
  log().error({ orderId, why: String(error) }, "top_up_failed")
}

/** Another process may do so at once: the provider knows the order's id. */
async function charge(provider: PaymentProvider, order: Unpaid): Promise<void> {
  const { id, userId, isPending, isOld, isWanted } = order
  // An event has booked it.
  if (!isPending) return endCheckout(id)
  if (!isWanted || isOld) return fail(order, null)
  const user = await db().user.findUniqueOrThrow({ where: { id: userId } })
  const customer = await customerOf(provider.name, userId)
  try {
    const { credits, amount, currency } = order
    const checkout = orderOf({ credits, amount, currency }, id, userId)
    const payment = await provider.charge({ ...checkout, email: user.email, customer, saveCard: false }, id)
    await receive(provider, { eventId: null, concerns: [{ kind: "payment", id: payment }] })
    await endCheckout(id)
  } catch (error) {
    const isRefused = error instanceof ProviderRefused
    if (!isRefused && !(error instanceof PaymentDeclined)) throw error
    if (isRefused) logFailed(id, error)
    await fail(order, customer && (await cardOf(provider, customer)))
    const why = isRefused ? "the payment provider does not accept it." : error.message
    await sendEmail(user, "top_up_declined", { credits: inCredits(order.credits), why })
  }
}

async function endCheckout(id: string): Promise<void> {
  await db().checkout.update({ where: { id }, data: { endedAt: new Date() } })
}

/** Pauses it until the card changes. @param card the one that was declined */
async function fail({ id, userId }: Pick<Order, "id" | "userId">, card: string | null): Promise<void> {
  await db().$transaction([
    db().order.updateMany({ where: { id, status: "pending" }, data: { status: "failed" } }),
    db().checkout.update({ where: { id }, data: { endedAt: new Date() } }),
    db().topUp.updateMany({ where: { userId }, data: { pausedAt: new Date(), pausedCard: card } }),
  ])
}

/** Looks at the card of each paused account once an hour while its balance is low. */
async function resumeWithOtherCards(provider: PaymentProvider): Promise<void> {
  const paused = await db().$queryRaw<(Agreed & Pick<TopUp, "userId" | "pausedCard">)[]>`
    UPDATE top_ups SET try_at = now() + interval '1 hour' WHERE user_id IN (
      SELECT user_id FROM top_ups t JOIN credit_accounts USING (user_id)
      WHERE paused_at IS NOT NULL AND NOT is_returned AND try_at <= now() AND balance < below LIMIT 100 FOR UPDATE OF t SKIP LOCKED)
    RETURNING user_id AS "userId", paused_card AS "pausedCard", pack, currency, amount`
  for (const { userId, pausedCard, ...agreed } of paused) {
    if (!agreedPack(agreed)) continue
    const customer = await customerOf(provider.name, userId)
    const card = customer && (await cardOf(provider, customer))
    if (card && card !== pausedCard)
      await db().topUp.updateMany({ where: { userId, isReturned: false }, data: { pausedAt: null, pausedCard: null } })
  }
}

/** One that the provider refuses to tell must not stop the others. */
async function cardOf(provider: PaymentProvider, customer: string): Promise<string | null> {
  try {
    return await provider.card(customer)
  } catch (error) {
    if (!(error instanceof ProviderRefused)) throw error
    log().error({ customer, why: String(error) }, "payment_request_refused")
    return null
  }
}
