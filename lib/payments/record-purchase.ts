import { randomUUID } from "node:crypto"
import { z } from "zod"
import { audit } from "@/lib/audit/entries"
import type { OwnerId } from "@/lib/authority/owner"
import { inCredits } from "@/lib/credits/words"
import { db, type Transaction } from "@/lib/platform/postgres/prisma"
import { isStorable, plainText } from "@/lib/platform/schemas/text"
import { minorUnits } from "@/lib/platform/text/money"
import { creditPacks, planCurrencies, planIntervals, plans } from "@/lib/product"
import { planOf } from "@/lib/purchases/sold-plans"
import { amount, bookElsewhere } from "./refund-order"
import { asBillingStaff, elsewhere, isReference, reason, type StaffRefusal } from "./staff"

type Item = { name: string; kind: "credits" | "subscription"; credits: number }

/** Packs, and one period of each plan. */
export const items: Readonly<Record<string, Item>> = Object.fromEntries([
  ...creditPacks.map(({ credits }) => [`pack_${credits}`, { name: inCredits(credits), kind: "credits", credits }]),
  ...planIntervals.flatMap((interval) =>
    plans.map((plan) => {
      const { name, credits } = planOf(plan, interval, planCurrencies[0])
      return [`${plan.slug}_${interval}`, { name: `${name}, one ${interval}`, kind: "subscription", credits }]
    }),
  ),
])

export const purchaseForm = z.object({
  account: z.string().trim().min(1, "Enter the email address or the ID of the account."),
  invoice: plainText({ name: "Invoice number", max: 64 }).refine(
    (text) => !isReference(text),
    "This is how refunds refer to an order. Enter the number of the invoice.",
  ),
  item: z.enum(Object.keys(items), "Choose a plan or a pack."),
  amount,
  currency: z.enum(planCurrencies, "Choose a currency."),
  reason,
})

export type PurchaseForm = z.output<typeof purchaseForm>

export type PurchaseResult =
  | { ok: true; repeated: boolean; userId: string; name: string; credits: number }
  | { ok: false; reason: StaffRefusal | "closed" | "number_taken" | "wrong_amount" }

const maxAmount = 2_147_483_647

/** Creates the order of a purchase that was paid without a provider, and grants its credits. Once for each invoice number. */
export async function recordPurchase(actorId: OwnerId, form: PurchaseForm): Promise<PurchaseResult> {
  const { account } = form
  const where = z.uuid().safeParse(account).success ? { id: account } : { email: account.toLowerCase() }
  const found = isStorable(account) ? await db().user.findUnique({ where, select: { id: true } }) : null
  return asBillingStaff(actorId, found?.id, async (transaction, { id: userId, status }): Promise<PurchaseResult> => {
    const item = items[form.item]
    const minor = minorUnits(form.amount, form.currency)
    if (!item || minor === null || minor > maxAmount) return { ok: false, reason: "wrong_amount" }
    const { invoice, currency } = form
    const { name, kind, credits } = item
    const order = {
      userId,
      kind,
      description: `${name}, invoice ${invoice}`,
      amount: minor,
      currency,
      credits,
    } as const
    const earlier = await lockNumber(transaction, invoice)
    if (earlier) {
      const isSame = (await transaction.order.count({ where: { ...order, id: earlier } })) === 1
      return isSame ? { ok: true, repeated: true, userId, name, credits } : { ok: false, reason: "number_taken" }
    }
    if (status === "closed") return { ok: false, reason: "closed" }

    const id = randomUUID()
    const created = await transaction.order.create({ data: { ...order, id, status: "pending" } })
    await bookElsewhere(transaction, created, invoice, 0)
    const details = { orderId: id, amount: minor, currency, reason: form.reason }
    await audit(transaction, { actorId, action: "order.recorded", targetType: "user", targetId: userId, details })
    return { ok: true, repeated: false, userId, name, credits }
  })
}

/** Of two purchases with the number at once, the second one waits. @returns the order that has it */
async function lockNumber(transaction: Transaction, invoice: string): Promise<string | null> {
  const [taken] = await transaction.$queryRaw<{ orderId: string | null }[]>`
    INSERT INTO provider_objects (provider, id, kind) VALUES (${elsewhere}, ${invoice}, 'payment')
    ON CONFLICT (provider, id) DO UPDATE SET updated_at = now() RETURNING order_id AS "orderId"`
  return taken?.orderId ?? null
}
