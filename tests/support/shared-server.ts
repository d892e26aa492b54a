import type { Listener } from "@/scripts/build-and-serve"
import { startMailServer } from "./mail-server"
import { startProvider } from "./oauth-provider"
import { outliveFile, startTestServer, type TestServer } from "./server"

// The files of a worker that import this share a server, which starts once: each file makes its own accounts. It reaches
// a sign-in provider and a mail server, and ends with the worker.

/** At which the clock of the server stands. */
export const serverTime = Date.now()

export const provider = await startProvider()

/** What the mail server says to emails to an address, instead of accepting them. */
export const refusals = new Map<string, string>()

export const mail = await startMailServer({
  refuse: (email) => [...refusals].find(([to]) => email.includes(`To: ${to}`))?.[1],
})

const given = {
  // A request that waits for a busy machine does not fail.
  DATABASE_WAIT_MS: "30000",
  ...provider.given,
  GOOGLE_CLIENT_ID: "id",
  GOOGLE_CLIENT_SECRET: "secret",
  METRICS_TOKEN: "a-token-of-the-tests",
  SMTP_URL: mail.url,
  EMAIL_FROM: "shop@example.com",
}

/** Starts another server with the same environment. */
export function startAnother(listener: Listener): Promise<TestServer> {
  return startTestServer(listener, given)
}

export const server = outliveFile(await startAnother("lean"))
