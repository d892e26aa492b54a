import type { Listener } from "@/scripts/build-and-serve"
import { startMailServer } from "./mail-server"
import { startProvider } from "./oauth-provider"
import { beforeEachFile, outliveFile, startTestServer, type TestServer } from "./server"
import { startStripe } from "./stripe"

// The files of a worker that import this share a server: each file makes its own accounts. It reaches a sign-in provider,
// a payment provider and a mail server, and ends with the worker.

export const provider = await startProvider()

export const stripe = await startStripe()

/** The mail server's refusals of emails, by address. */
export const refusals = new Map<string, string>()

export const mail = await startMailServer({
  refuse: (email) => [...refusals].find(([to]) => email.includes(`To: ${to}`))?.[1],
})

/** Starts another server with the same environment. @param now its stopped clock */
export function startAnother(listener: Listener, now?: number): Promise<TestServer> {
  return startTestServer(listener, {
    // A request that waits for a busy machine does not fail.
    DATABASE_WAIT_MS: "30000",
    ...provider.given(now),
    GOOGLE_CLIENT_ID: "id",
    GOOGLE_CLIENT_SECRET: "secret",
    ...stripe.given,
    METRICS_TOKEN: "a-token-of-the-tests",
    SMTP_URL: mail.url,
    EMAIL_FROM: "shop@example.com",
  })
}

/** The stopped clock of the server. */
export let serverTime = Date.now()

export let server = outliveFile(await startAnother("lean", serverTime))

// jose does not read this clock, and a sign-in at a provider, which the server starts by it, may take fifteen minutes.
beforeEachFile(async () => {
  if (Date.now() - serverTime < 5 * 60_000) return
  await server.stop()
  serverTime = Date.now()
  server = outliveFile(await startAnother("lean", serverTime))
})
