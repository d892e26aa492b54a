import { afterEach, beforeAll, beforeEach } from "vitest"
import { env } from "@/lib/env"
import { type MailServer, startMailServer } from "./mail-server"

type Received = Pick<MailServer, "emails"> & {
  /** Called when an email arrives, before the mail server has accepted it. */
  onEmail?: ((email: string) => void) | undefined
}

/** Lets every test of a file send emails through its own mail server. Returns the emails of the current test. */
export function receiveEmails(): Received {
  const received: Received = { emails: [] }
  let server: MailServer
  beforeAll(async () => {
    server = await startMailServer({ onEmail: (email) => received.onEmail?.(email) })
    return () => server.stop()
  })
  beforeEach(() => {
    Object.assign(env(), { SMTP_URL: server.url, EMAIL_FROM: "Shop <hello@example.com>" })
    Object.assign(received, { emails: server.emails, onEmail: undefined })
    server.emails.length = 0
  })
  afterEach(() => {
    delete env().SMTP_URL
    delete env().EMAIL_FROM
  })
  return received
}
