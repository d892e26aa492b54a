"use server"

import { revalidatePath } from "next/cache"
import { redirect } from "next/navigation"
import { z } from "zod"
import { env } from "@/lib/env"
import { done, formAction, type Message, type Outcome, refused, retryLater } from "@/lib/form/action"
import { customerOf, leaveCheckout, type Started, soldPack, startCheckout } from "@/lib/payments/checkouts"
import { paymentProvider } from "@/lib/payments/configured"
import { PaymentDeclined, ProviderRefused, ProviderUnavailable } from "@/lib/payments/errors"
import { changePlan, endPlan } from "@/lib/payments/plan-changes"
import type { PaymentProvider } from "@/lib/payments/provider"
import { planPage } from "@/lib/payments/top-up"
import { consume } from "@/lib/platform/rate-limit/rate-limit"
import { hidden } from "@/lib/platform/schemas/form-fields"
import { log } from "@/lib/platform/telemetry/log"
import { plainDate } from "@/lib/platform/text/format-time"
import { soldPlan } from "@/lib/purchases/sold-plans"
import { currentSubscription } from "@/lib/purchases/subscriptions"
import { setTopUp, stopTopUp, topUpForm } from "@/lib/purchases/top-ups"
import { tooMany } from "@/lib/sign-in/attempts"
import type { Viewer } from "@/lib/sign-in/browser-session"
import { obstacles } from "./words"

type Refused = Exclude<Outcome<never, never>, { ok: true }>

/** Asks the provider, whose failures are expected. */
async function withProvider<Done>(
  { id }: Pick<Viewer, "id">,
  act: (provider: PaymentProvider) => Promise<Outcome<never, Done>>,
): Promise<Outcome<never, Done>> {
  const provider = paymentProvider()
  if (!provider) return refused("Nothing is sold here at the moment.")
  const verdict = await consume("purchasesAccount", id)
  if (!verdict.allowed) return retryLater("You asked the payment provider too often", tooMany(verdict))
  try {
    return await act(provider)
  } catch (error) {
    if (error instanceof PaymentDeclined) return declined(error)
    if (error instanceof ProviderUnavailable) return away
    if (error instanceof ProviderRefused) {
      log().error({ why: error.message }, "payment_request_refused")
      return refused("The payment provider refused this request, and nothing was paid. Try again, or contact us.")
    }
    throw error
  }
}

const away: Refused = {
  ...refused("The payment provider does not respond. Try again in a minute."),
  unknown: true,
}

function declined({ message }: Error): Refused {
  return refused(`${message} Nothing was changed. Change your card under “Invoices, receipts and cards”.`)
}

/** Only the names of the plan or pack come from the form. The account pays on the page of the provider. */
export const subscribe = formAction({
  fields: z.object({ plan: hidden(z.string()) }),
  permission: null,
  fresh: false,
  act: async ({ plan }, { viewer }): Promise<Outcome<never, Message>> => {
    const sold = soldPlan(plan)
    if (!sold) return refused(obstacles.not_sold)
    return open(await withProvider(viewer, (provider) => start(startCheckout(provider, viewer, sold))))
  },
})

export const buyPack = formAction({
  fields: z.object({ pack: hidden(z.string()), currency: hidden(z.string()) }),
  permission: null,
  fresh: false,
  act: async ({ pack, currency }, { viewer }): Promise<Outcome<never, Message>> => {
    const sold = soldPack(Number(pack), currency)
    if (!sold) return refused("This pack is no longer sold.")
    return open(await withProvider(viewer, (provider) => start(startCheckout(provider, viewer, sold))))
  },
})

async function start(started: Promise<Started>): Promise<Outcome<never, string>> {
  const result = await started
  if (result.ok) return done(result.url)
  switch (result.reason) {
    case "not_active":
      return refused("This account cannot buy anything.")
    case "subscribed":
      return refused("You have a plan already. Change it instead.")
    case "starting":
      return refused("A checkout is being opened, perhaps in another window. Try again in a few minutes.")
    case "other_open":
      return refused(
        `A checkout for ${soldPlan(result.planId)?.name ?? "another plan"} is open. Reload this page to continue or leave it.`,
      )
  }
}

/** Not in the try block of withProvider: a redirect is thrown. */
function open(outcome: Outcome<never, string>): Refused {
  if (!outcome.ok) return outcome
  redirect(outcome.done)
}

export const leave = formAction({
  fields: z.object({}),
  permission: null,
  fresh: false,
  act: async (_form, { viewer }): Promise<Outcome<never, Message>> => {
    const outcome = await withProvider(viewer, async (provider) => {
      await leaveCheckout(provider, viewer.id)
      return done<Message>("The checkout is closed.")
    })
    revalidatePath(planPage)
    return outcome
  },
})

export const openPortal = formAction({
  fields: z.object({}),
  permission: null,
  fresh: true,
  act: async (_form, { viewer }): Promise<Outcome<never, Message>> =>
    open(
      await withProvider(viewer, async (provider) => {
        const customer = await customerOf(provider.name, viewer.id)
        if (!customer) return refused("You have not bought anything yet.")
        const opened = await provider.portal(customer, `${env().BASE_URL}${planPage}`)
        return opened ? done(opened.url) : refused("The payment provider no longer has your data. Contact us instead.")
      }),
    ),
})

const later = " This page shows it within a few minutes."

export const change = formAction({
  fields: z.object({ plan: hidden(z.string()) }),
  permission: null,
  fresh: true,
  act: async ({ plan }, { viewer }): Promise<Outcome<never, Message>> => {
    const outcome = await withProvider(viewer, async (provider) => {
      const result = await changePlan(provider, viewer.id, plan)
      if (!result.ok) return refused(obstacles[result.reason])
      const { name } = result.change.plan
      const words =
        result.change.at === "now"
          ? `Your plan is now ${name}.`
          : `Your plan changes to ${name} ${await atPeriodEnd(viewer)}.`
      return done<Message>(words + (result.isBooked ? "" : later))
    })
    revalidatePath(planPage)
    return outcome
  },
})

export const cancel = formAction({
  fields: z.object({}),
  permission: null,
  fresh: false,
  act: async (_form, { viewer }) => end(viewer, "period_end"),
})

export const resume = formAction({
  fields: z.object({}),
  permission: null,
  fresh: true,
  act: async (_form, { viewer }) => end(viewer, "never"),
})

async function end(viewer: Viewer, at: "period_end" | "never"): Promise<Outcome<never, Message>> {
  const outcome = await withProvider(viewer, async (provider) => {
    const result = await endPlan(provider, viewer.id, at)
    if (!result.ok) return refused(obstacles[result.reason])
    const words = at === "never" ? "Your plan continues." : `Your plan ends ${await atPeriodEnd(viewer)}.`
    return done<Message>(words + (result.isBooked ? "" : later))
  })
  revalidatePath(planPage)
  return outcome
}

async function atPeriodEnd({ id }: Viewer): Promise<string> {
  const end = (await currentSubscription(id))?.currentPeriodEnd
  return end ? `on ${plainDate(end)}` : "with its period"
}

export const changeTopUp = formAction({
  fields: topUpForm,
  permission: null,
  fresh: true,
  act: async (form, { viewer }) => {
    if (!paymentProvider()) return refused("Nothing is sold here at the moment.")
    await setTopUp(viewer.id, form)
    revalidatePath(planPage)
    return done()
  },
})

export const endTopUp = formAction({
  fields: z.object({}),
  permission: null,
  fresh: false,
  act: async (_form, { viewer }) => {
    await stopTopUp(viewer.id)
    revalidatePath(planPage)
    return done()
  },
})
