import { collectOwed } from "@/lib/credits/book"
import { endCheckouts, leaveCheckouts } from "./checkouts"
import { paymentProvider } from "./configured"
import type { PaymentProvider } from "./provider"
import { type Reconciled, reconcile, reconcileDaily } from "./reconcile"
import { workRequests } from "./requests"
import { topUpAccounts } from "./top-ups"
import { retryEvents } from "./waiting-events"
import { watchPayments } from "./watch"

/** Work of the sweeper. It is here, and not in its table, because a team can remove this module. */
export const jobs = {
  payment_requests: {
    everyMs: 60_000,
    run: ifSelling(async (provider) => {
      const [done, left] = [await workRequests(provider), await leaveCheckouts(provider)]
      return `${done} requests to the payment provider done, ${left} checkouts of closed accounts closed`
    }),
  },
  payment_events: {
    everyMs: 60_000,
    run: ifSelling(async (provider) => `${await retryEvents(provider)} waiting events of payments booked`),
  },
  payment_watch: { everyMs: 60_000, run: ifSelling(watchPayments) },
  payment_top_ups: {
    everyMs: 10_000,
    run: ifSelling(async (provider) => `${await topUpAccounts(provider)} automatic purchases made`),
  },
  payment_owed: {
    everyMs: 10_000,
    run: async () => `${await collectOwed()} accounts paid credits that they owed`,
  },
  payment_checkouts: {
    everyMs: 600_000,
    run: async () => `${await endCheckouts()} orders failed that were never paid`,
  },
  payment_differences: { everyMs: 600_000, run: ifSelling(reconcileDaily) },
}

function ifSelling(run: (provider: PaymentProvider) => Promise<string>): () => Promise<string> {
  return async () => {
    const provider = paymentProvider()
    return provider ? run(provider) : ""
  }
}

/** For the command. @returns null if nothing is sold */
export async function reconcileNow(): Promise<Reconciled[] | null> {
  const provider = paymentProvider()
  return provider && reconcile(provider)
}
