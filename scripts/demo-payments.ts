import { existsSync } from "node:fs"
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import pg from "pg"
import { demoPayments } from "@/lib/env"
import { withSettings } from "@/lib/platform/postgres/settings"
import { demoAccounts } from "@/lib/process/demo-accounts"
import { product } from "@/lib/product"
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

/**
 * Buys, at the stand-in, the plans that the accounts of the demo's sign-ins have in the sample data: only a plan that was
 * bought there can be changed. The server must be running, or be about to start.
 */
export async function buyPlans(control: StandIn["control"], ownerUrl: string): Promise<void> {
  if (!existsSync("app/api/billing")) return
  const database = new pg.Client({ connectionString: withSettings(ownerUrl) })
  await database.connect()
  try {
    const { rows } = await database.query<Record<string, string>>(
      `UPDATE subscriptions s SET status = 'canceled', canceled_at = now(), cancel_at_period_end = false
       FROM users u, plans p
       WHERE u.id = s.user_id AND u.email = ANY ($1) AND p.id = s.plan_id AND s.status <> 'canceled'
         AND NOT EXISTS (SELECT FROM provider_objects o WHERE o.subscription_id = s.id)
       RETURNING u.id AS account, u.email, p.id AS plan, p.name, s.amount, s.currency, s.interval`,
      [demoAccounts.map(({ email }) => email)],
    )
    for (const terms of rows)
      await control("subscribe", { ...terms, amount: String(terms.amount), product: `${product.slug}_${terms.plan}` })
    await control("settled")
  } finally {
    await database.end()
  }
}
