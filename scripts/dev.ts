import { startNext } from "./build-and-serve"
import { stopOnSignal } from "./child"
import { localAuthSecret, seedWhenEmpty, signIns } from "./demo-data"
import { buyPlans, startDemoPayments } from "./demo-payments"
import { openDatabase } from "./local-database"
import { migrate } from "./migrate"

const running: { stop: () => Promise<void> }[] = []

export async function startDevelopment(port: number): Promise<void> {
  stopOnSignal(stopAll)
  const database = await openDatabase()
  running.push(database)
  if (database.local) {
    if (await seedWhenEmpty(database.ownerUrl)) console.log("· Created 18 months of sample data in .data")
    console.log(`\n${await signIns(database.ownerUrl)}\n`)
  } else {
    const { applied } = await migrate(database.ownerUrl, database.url)
    if (applied.length > 0) console.log(`· Applied ${applied.join(", ")}`)
  }
  // A developer's own keys are of Stripe's test mode.
  const payments = process.env.STRIPE_SECRET_KEY ? undefined : await startDemoPayments(port)
  if (payments) {
    running.push(payments)
    console.log(`· ${payments.url} stands in for Stripe: no money moves`)
  }
  const next = startNext(["dev", "-p", String(port)], {
    ...payments?.given,
    DATABASE_URL: database.url,
    AUTH_SECRET: process.env.AUTH_SECRET || (await localAuthSecret()),
    BASE_URL: process.env.BASE_URL || `http://localhost:${port}`,
    DEMO: process.env.DEMO || (process.env.SMTP_URL ? "off" : "on"),
    // Next logs each request itself.
    LOG_LEVEL: process.env.LOG_LEVEL || "warn",
    ...(process.stdout.isTTY && { FORCE_COLOR: "1" }),
  })
  running.push(next)
  if (payments && database.local) await buyPlans(payments.control, database.ownerUrl)
  next.process.stdout?.pipe(process.stdout)
  next.process.stderr?.pipe(process.stderr)
  const code = await next.exited
  // Empty after a signal, which also stops this process.
  if (running.length === 0) return
  await stopAll()
  process.exit(code)
}

async function stopAll(): Promise<void> {
  for (const { stop } of running.splice(0).reverse()) await stop()
}
