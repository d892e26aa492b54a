import { price } from "@/components/account/plan-cards"
import { inCredits } from "@/lib/credits/words"
import { changeOf, type OwnPlan } from "@/lib/payments/plan-changes"
import { plainDate } from "@/lib/platform/text/format-time"
import { planCurrencies, planIntervals, plans } from "@/lib/product"
import { planOf, type SoldPlan } from "@/lib/purchases/sold-plans"
import type { Question } from "./confirmations"

const every = planCurrencies.flatMap((currency) =>
  planIntervals.flatMap((interval) => plans.map((plan) => planOf(plan, interval, currency))),
)

/** All that the account may do with its plan, or without one. Each says what is paid now and what happens to credits. */
export function questionsOf(own: OwnPlan | null): Question[] {
  if (!own) return every.map(subscription)
  const { subscription: current, objectId, next } = own
  if (!objectId) return []
  const end = plainDate(current.currentPeriodEnd)
  const isPastDue = current.status === "past_due"
  const ending: Question[] = current.cancelAtPeriodEnd
    ? [resume("", `Your plan renews on ${end} as before: you pay nothing now.`)]
    : [
        {
          kind: "cancel",
          plan: "",
          title: `Cancel ${current.planName}?`,
          text: `You keep the plan until ${end}, and it does not renew. ${isPastDue ? "The overdue payment remains due. " : ""}Credits that you have stay. Until then you can resume it.`,
          submit: `End plan on ${end}`,
        },
      ]
  const kept: Question[] = next
    ? [
        resume(
          "",
          `The change to ${next.name} on ${end} does not happen: your plan renews as before. You pay nothing now.`,
        ),
      ]
    : []
  return [...ending, ...kept, ...every.flatMap((plan) => changeQuestion(own, plan) ?? [])]
}

function resume(plan: string, text: string): Question {
  return { kind: "resume", plan, title: "Keep your plan?", text, submit: "Keep plan" }
}

export function priceOf({ amount, currency, interval }: Pick<SoldPlan, "amount" | "currency" | "interval">): string {
  return `${price(amount, currency)} per ${interval}`
}

function subscription(plan: SoldPlan): Question {
  return {
    kind: "subscribe",
    plan: plan.id,
    title: `Subscribe to ${plan.name}?`,
    text: `You pay ${price(plan.amount, plan.currency)}, taxes included, now on the page of our payment provider, and again every ${plan.interval} until you cancel. Each payment adds ${inCredits(plan.credits)}.`,
    submit: "Continue to payment",
  }
}

function changeQuestion(own: OwnPlan, plan: SoldPlan): Question | undefined {
  const change = changeOf(own, plan.id)
  if (typeof change === "string") return undefined
  const title = `Change to ${plan.name}?`
  const { planName, currentPeriodEnd } = own.subscription
  const end = plainDate(currentPeriodEnd)
  const text =
    change.at === "now"
      ? `You pay about ${price(change.due, plan.currency)} now: ${price(plan.amount, plan.currency)} less the unused time of ${planName}. About ${inCredits(change.credits)} are added at once, and credits that you have stay. From now on you pay ${priceOf(plan)}.`
      : `You pay nothing now and keep ${planName} until ${end}. From then on you pay ${priceOf(plan)} for ${inCredits(plan.credits)}. Credits that you have stay.`
  return {
    kind: "change",
    plan: plan.id,
    title,
    text,
    submit: change.at === "now" ? "Pay and change" : `Change on ${end}`,
  }
}
