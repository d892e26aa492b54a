import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { SMTPServer } from "smtp-server"

export type MailServer = {
  /** The value for `SMTP_URL`. */
  url: string
  /** The headers and decoded text of each email received, oldest first. */
  emails: string[]
  stop: () => Promise<void>
}

type Behavior = {
  /** Refuses every email with the message that it returns. */
  refuse?: (email: string) => string
  onEmail?: (email: string) => void
}

/** Starts an SMTP server that stores the emails it receives. */
export async function startMailServer({ refuse, onEmail }: Behavior = {}): Promise<MailServer> {
  const emails: string[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS", "AUTH"],
    onData(stream, _session, done) {
      const chunks: Buffer[] = []
      stream.on("data", (chunk) => chunks.push(chunk))
      stream.on("end", () => {
        const email = decode(Buffer.concat(chunks).toString("latin1"))
        if (refuse) return done(new Error(refuse(email)))
        emails.push(email)
        onEmail?.(email)
        done()
      })
    },
  })
  const listening = server.listen(0, "127.0.0.1")
  await once(listening, "listening")
  return {
    url: `smtp://127.0.0.1:${(listening.address() as AddressInfo).port}`,
    emails,
    stop: () => new Promise((done) => server.close(done)),
  }
}

/** Decodes quoted-printable. */
function decode(email: string): string {
  const encoded = /^content-transfer-encoding: quoted-printable/im.test(email)
  const joined = encoded ? email.replaceAll("=\r\n", "") : email
  const decoded = encoded
    ? joined.replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)))
    : joined
  return Buffer.from(decoded, "latin1").toString()
}

/** The token in the link of a password reset email. */
export function resetTokenIn(email: string): string {
  return tokenIn(email, /\/reset-password\/([\w-]+)/)
}

/** The token in the link of an email that verifies an address. */
export function verificationTokenIn(email: string): string {
  return tokenIn(email, /\/verify\/([\w-]+)/)
}

function tokenIn(email: string, link: RegExp): string {
  const token = link.exec(email)?.[1]
  if (!token) throw new Error(`There is no link in this email:\n${email}`)
  return token
}
