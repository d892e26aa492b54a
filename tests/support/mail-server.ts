import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { SMTPServer } from "smtp-server"

export type MailServer = {
  /** The value for `SMTP_URL`. */
  url: string
  /** The headers and the text part of each email received, decoded, oldest first. */
  emails: string[]
  /** The HTML part of each. */
  htmlParts: string[]
  stop: () => Promise<void>
}

type Behavior = {
  /** Refuses an email with the message that it returns. */
  refuse?: (email: string) => string | undefined
  onEmail?: (email: string) => void
}

/** Starts an SMTP server that stores the emails it receives. */
export async function startMailServer({ refuse, onEmail }: Behavior = {}): Promise<MailServer> {
  const emails: string[] = []
  const htmlParts: string[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS", "AUTH"],
    onData(stream, _session, done) {
      const chunks: Buffer[] = []
      stream.on("data", (chunk) => chunks.push(chunk))
      stream.on("end", () => {
        const received = Buffer.concat(chunks).toString("latin1")
        const email = `${headersOf(received)}\r\n\r\n${partOf(received, "text/plain")}`
        const refusal = refuse?.(email)
        if (refusal) return done(new Error(refusal))
        emails.push(email)
        htmlParts.push(partOf(received, "text/html"))
        onEmail?.(email)
        done()
      })
    },
  })
  // A server that is killed resets its connections.
  server.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "ECONNRESET") throw error
  })
  const listening = server.listen(0, "127.0.0.1")
  await once(listening, "listening")
  return {
    url: `smtp://127.0.0.1:${(listening.address() as AddressInfo).port}`,
    emails,
    htmlParts,
    stop: () => new Promise((done) => server.close(done)),
  }
}

function headersOf(message: string): string {
  return message.slice(0, message.indexOf("\r\n\r\n"))
}

/** The decoded part of an email with this content type. */
function partOf(email: string, type: "text/plain" | "text/html"): string {
  const boundary = /boundary="([^"]+)"/.exec(headersOf(email))?.[1]
  const parts = email.split(`\r\n--${boundary}`)
  const part = parts.find((candidate) => headersOf(candidate.trimStart()).includes(`Content-Type: ${type}`))
  if (!boundary || !part) throw new Error(`This email has no part ${type}:\n${email}`)
  const body = part.slice(part.indexOf("\r\n\r\n") + 4)
  const encoding = /^content-transfer-encoding: (\S+)/im.exec(headersOf(part.trimStart()))?.[1]
  if (encoding === "base64") return Buffer.from(body, "base64").toString()
  return Buffer.from(encoding === "quoted-printable" ? unquoted(body) : body, "latin1").toString()
}

/** Decodes quoted-printable to one character per byte. */
function unquoted(body: string): string {
  return body.replaceAll("=\r\n", "").replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)))
}

/** The token in the link of a password reset email. */
export function resetTokenIn(email: string): string {
  return tokenIn(email, /\/reset-password\/([\w-]+)/)
}

/** The token in the link of an email that verifies an address. */
export function verificationTokenIn(email: string): string {
  return tokenIn(email, /\/verify\/([\w-]+)/)
}

/** The code in an email for a proof of identity. */
export function proofCodeIn(email: string): string {
  const [, ...digits] = /^(\d{4}) (\d{4})\r?$/m.exec(email) ?? []
  if (digits.length === 0) throw new Error(`There is no code in this email:\n${email}`)
  return digits.join("")
}

function tokenIn(email: string, link: RegExp): string {
  const token = link.exec(email)?.[1]
  if (!token) throw new Error(`There is no link in this email:\n${email}`)
  return token
}
