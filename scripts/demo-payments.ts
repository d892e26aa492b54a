import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { demoPayments } from "@/lib/env"
import { dataDirectory } from "./local-database"
import { type StandIn, startStandIn } from "./stripe-stand-in/server"

export type DemoPayments = StandIn & { given: Record<string, string> }

/** Starts the stand-in of Stripe for the server on `port`. Its objects are kept in .data, as the orders that name them are. */
export async function startDemoPayments(port: number): Promise<DemoPayments> {
  await mkdir(dataDirectory, { recursive: true })
  const options = {
    key: demoPayments.STRIPE_SECRET_KEY,
    webhookSecret: demoPayments.STRIPE_WEBHOOK_SECRET,
    webhookUrl: `http://127.0.0.1:${port}/api/billing/stripe`,
    file: join(dataDirectory, "stripe.json"),
  }
  // The same port after each start, so that links of orders stay; any port if another program has it.
  const standIn = await startStandIn({ ...options, port: Math.min(port + 9_111, 65_535) }).catch(() =>
    startStandIn(options),
  )
  return { ...standIn, given: { ...demoPayments, STRIPE_API_URL: standIn.url } }
}
