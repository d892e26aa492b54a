import { appendFileSync } from "node:fs"
import { rm, writeFile } from "node:fs/promises"
import { build, isBuilt, serve } from "@/scripts/build-and-serve"
import { stopOnSignal } from "@/scripts/child"
import { seedWhenEmpty } from "@/scripts/demo-data"
import { migrate } from "@/scripts/migrate"
import { startTemporaryPostgres } from "@/scripts/postgres"
import { directoryInMemory } from "./directory-in-memory"
import { settingsOfTests } from "./hostile-settings"
import { startMailServer } from "./mail-server"
import { startStripe } from "./stripe"

// The server that playwright.config.ts starts: the build, with a small temporary data set.
const running: { stop: () => Promise<unknown> }[] = []
stopOnSignal(stopAll)

const postgres = await startTemporaryPostgres(settingsOfTests, await directoryInMemory())
running.push(postgres)
await migrate(postgres.url, postgres.runtimeUrl)
const databaseFile = process.env.E2E_DATABASE_FILE
if (databaseFile) {
  await writeFile(databaseFile, postgres.url, { mode: 0o600 })
  running.push({ stop: () => rm(databaseFile, { force: true }) })
}
await seedWhenEmpty(postgres.url, 30)
const mailFile = process.env.E2E_MAIL_FILE
const mail = mailFile && (await startMailServer({ onEmail: (email) => keepEmail(mailFile, email) }))
if (mail) running.push({ stop: () => Promise.all([mail.stop(), rm(mailFile, { force: true })]) })
if (!(await isBuilt())) {
  const { ok, output } = await build((command) => running.push(command))
  if (!ok) await fail(output)
}
const port = Number(process.env.E2E_PORT)
const stripe = await startStripe()
running.push(stripe)
await stripe.sendTo({ address: `http://127.0.0.1:${port}` })
const stripeFile = process.env.E2E_STRIPE_FILE
if (stripeFile) {
  await writeFile(stripeFile, stripe.url)
  running.push({ stop: () => rm(stripeFile, { force: true }) })
}
const given = {
  ...stripe.given,
  DATABASE_URL: postgres.runtimeUrl,
  AUTH_SECRET: String(process.env.E2E_AUTH_SECRET),
  // e2e/fixtures.ts has each test send from its own address.
  TRUSTED_PROXY_HOPS: "1",
  // A page that waits for a busy machine is not refused.
  DATABASE_WAIT_MS: "30000",
  ...(mail && { SMTP_URL: mail.url, EMAIL_FROM: "Shop <hello@example.com>" }),
}
const server = serve(port, given, process.env.E2E_LISTENER === "next" ? "next" : "lean")
running.push(server)
server.process.stdout?.resume()
server.process.stderr?.pipe(process.stderr)
await server.exited
if (running.length > 0) await fail("The server exited.")

/** Appends an email to the file as one line of JSON; e2e/mail.ts reads them. */
function keepEmail(file: string, email: string): void {
  appendFileSync(file, `${JSON.stringify(email)}\n`, { mode: 0o600 })
}

async function fail(message: string): Promise<never> {
  console.error(message)
  await stopAll()
  process.exit(1)
}

async function stopAll(): Promise<void> {
  for (const { stop } of running.splice(0).reverse()) await stop()
}
