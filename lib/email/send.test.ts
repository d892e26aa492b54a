import { afterEach, expect, test, vi } from "vitest"
import { env } from "@/lib/env"
import { db } from "@/lib/postgres/prisma"
import { log } from "@/lib/telemetry/log"
import { createUser } from "@/tests/support/factories"
import { resetTokenIn, startMailServer } from "@/tests/support/mail-server"
import { sendEmail } from "./send"

const key = { surface: "user", keyName: "Nightly report", start: "tsk_usr_Ab3d" } as const

afterEach(() => {
  delete env().SMTP_URL
  delete env().EMAIL_FROM
  Reflect.deleteProperty(globalThis, Symbol.for("tsk.smtp"))
})

function pointAt(url: string) {
  Object.assign(env(), { SMTP_URL: url, EMAIL_FROM: "tsk <hello@example.com>" })
}

async function logOf(userId: string) {
  return db().email.findMany({ where: { userId } })
}

test("without a mail server a letter is logged as not sent", async () => {
  const user = await createUser()
  await sendEmail(user, "welcome", user)
  expect(await logOf(user.id)).toMatchObject([
    { to: user.email, template: "welcome", subject: "Welcome to tsk", status: "not_sent", sentAt: null },
  ])
})

test("a letter goes out through the mail server and into the log", async () => {
  const server = await startMailServer()
  pointAt(server.url)
  const user = await createUser()
  await sendEmail(user, "key_created", key)
  await server.stop()
  expect(server.emails).toHaveLength(1)
  expect(server.emails[0]).toContain(`To: ${user.email}`)
  expect(server.emails[0]).toContain("Nightly report")
  expect(await logOf(user.id)).toMatchObject([{ template: "key_created", status: "sent", sentAt: expect.any(Date) }])
})

test("a letter that is refused is logged with what the mail server said", async () => {
  const server = await startMailServer({ refuse: () => "mailbox unavailable" })
  pointAt(server.url)
  const user = await createUser()
  await sendEmail(user, "key_revoked", key)
  await server.stop()
  expect(await logOf(user.id)).toMatchObject([
    { status: "failed", error: expect.stringContaining("mailbox unavailable") },
  ])
})

test("what a reset letter holds stays out of the log, also when the mail server refuses it word for word", async () => {
  const server = await startMailServer({ refuse: (message) => `we do not like ${resetTokenIn(message)}` })
  pointAt(server.url)
  const user = await createUser()
  const token = "q".repeat(43)
  await sendEmail(user, "password_reset", { token, minutes: 60 })
  await server.stop()
  const kept = await logOf(user.id)
  expect(kept).toMatchObject([{ status: "failed", error: "EMESSAGE 450" }])
  expect(JSON.stringify(kept)).not.toContain(token)
})

test("a mail server that is gone, and a log that cannot be written, are no error of what the letter is about", async () => {
  pointAt("smtp://127.0.0.1:9")
  const user = await createUser()
  await sendEmail(user, "key_revoked", key)
  expect(await logOf(user.id)).toMatchObject([{ status: "failed", error: expect.stringContaining("ECONNREFUSED") }])
  const logged = vi.spyOn(log(), "error")
  await sendEmail({ id: "no-uuid", email: user.email }, "welcome", { name: "Ann" })
  expect(logged).toHaveBeenCalledWith(expect.anything(), "email_not_logged")
})
