import { startStandIn } from "./server"

// Starts the stand-in alone: see README.md.

const { PORT, STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET, WEBHOOK_URL, STATE_FILE } = process.env

const { url, stop } = await startStandIn({
  port: Number(PORT || 12111),
  key: STRIPE_SECRET_KEY || "sk_test_stand_in",
  webhookSecret: STRIPE_WEBHOOK_SECRET || "whsec_stand_in",
  ...(WEBHOOK_URL && { webhookUrl: WEBHOOK_URL }),
  ...(STATE_FILE && { file: STATE_FILE }),
})
console.log(`The stand-in of Stripe listens on ${url}`)
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => stop().then(() => process.exit(0)))
