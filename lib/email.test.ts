import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { SMTPServer } from "smtp-server"
import { afterEach, expect, test, vi } from "vitest"
import { createUser } from "@/prisma/factories"
import { db } from "./db"
import { sendEmail } from "./email"
import { env } from "./env"

const key = { surface: "user", keyName: "Nightly report", start: "tsk_usr_Ab3d" } as const

afterEach(() => {
  delete env().SMTP_URL
  delete env().EMAIL_FROM
  Reflect.deleteProperty(globalThis, Symbol.for("tsk.smtp"))
})

function pointAt(port: number) {
  Object.assign(env(), { SMTP_URL: `smtp://127.0.0.1:${port}`, EMAIL_FROM: "tsk <hello@example.com>" })
}

async function logOf(userId: string) {
  return db().email.findMany({ where: { userId } })
}

/** A real mail server that takes every letter, or refuses every recipient. */
async function mailServer(refuse = false) {
  const letters: string[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS", "AUTH"],
    onRcptTo: (_address, _session, done) => done(refuse ? new Error("mailbox unavailable") : null),
    onData(stream, _session, done) {
      const chunks: Buffer[] = []
      stream.on("data", (chunk) => chunks.push(chunk))
      stream.on("end", () => {
        letters.push(Buffer.concat(chunks).toString())
        done()
      })
    },
  })
  const listening = server.listen(0, "127.0.0.1")
  await once(listening, "listening")
  return {
    letters,
    port: (listening.address() as AddressInfo).port,
    close: () => new Promise<void>((done) => server.close(done)),
  }
}

test("without a mail server a letter is logged as not sent", async () => {
  const user = await createUser()
  await sendEmail(user, "welcome", user)
  expect(await logOf(user.id)).toMatchObject([
    { to: user.email, template: "welcome", subject: "Welcome to tsk", status: "not_sent", sentAt: null },
  ])
})

test("a letter goes out through the mail server and into the log", async () => {
  const server = await mailServer()
  pointAt(server.port)
  const user = await createUser()
  await sendEmail(user, "key_created", key)
  await server.close()
  expect(server.letters).toHaveLength(1)
  expect(server.letters[0]).toContain(`To: ${user.email}`)
  expect(server.letters[0]).toContain("Nightly report")
  expect(await logOf(user.id)).toMatchObject([{ template: "key_created", status: "sent", sentAt: expect.any(Date) }])
})

test("a letter that is refused is logged with what the mail server said", async () => {
  const server = await mailServer(true)
  pointAt(server.port)
  const user = await createUser()
  await sendEmail(user, "key_revoked", key)
  await server.close()
  expect(await logOf(user.id)).toMatchObject([
    { status: "failed", error: expect.stringContaining("mailbox unavailable") },
  ])
})

test("a mail server that is gone, and a log that cannot be written, are no error of what the letter is about", async () => {
  pointAt(9)
  const user = await createUser()
  await sendEmail(user, "key_revoked", key)
  expect(await logOf(user.id)).toMatchObject([{ status: "failed", error: expect.stringContaining("ECONNREFUSED") }])
  const log = vi.spyOn(console, "error").mockImplementation(() => {})
  await sendEmail({ id: "no-uuid", email: user.email }, "welcome", { name: "Ann" })
  expect(log).toHaveBeenCalledWith(expect.stringContaining("email_not_logged"))
})
