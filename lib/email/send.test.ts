import { afterEach, expect, test, vi } from "vitest"
import { env } from "@/lib/env"
import { db } from "@/lib/postgres/prisma"
import { product } from "@/lib/product"
import { kinds } from "@/lib/surfaces"
import { log } from "@/lib/telemetry/log"
import { createUser } from "@/tests/support/factories"
import { resetTokenIn, startMailServer } from "@/tests/support/mail-server"
import { sendEmail } from "./send"

const key = {
  surface: "user",
  keyName: "Nightly report",
  name: "Nightly report",
  start: `${kinds.user.prefix}Ab3d`,
} as const

afterEach(() => {
  delete env().SMTP_URL
  delete env().EMAIL_FROM
  Reflect.deleteProperty(globalThis, Symbol.for("app.smtp"))
})

function setMailServer(url: string) {
  Object.assign(env(), { SMTP_URL: url, EMAIL_FROM: "Shop <hello@example.com>" })
}

async function recordsOf(userId: string) {
  return db().email.findMany({ where: { userId } })
}

test("without a mail server an email is recorded as not sent", async () => {
  const user = await createUser()
  await sendEmail(user, "welcome", user)
  expect(await recordsOf(user.id)).toMatchObject([
    { to: user.email, template: "welcome", subject: `Welcome to ${product.name}`, status: "not_sent", sentAt: null },
  ])
})

test("an email is sent through the mail server and recorded", async () => {
  const server = await startMailServer()
  setMailServer(server.url)
  const user = await createUser()
  await sendEmail(user, "key_created", key)
  await server.stop()
  expect(server.emails).toHaveLength(1)
  expect(server.emails[0]).toContain(`To: ${user.email}`)
  expect(server.emails[0]).toContain("Nightly report")
  expect(server.emails[0]).toContain(`contact ${product.supportEmail}.`)
  expect(await recordsOf(user.id)).toMatchObject([
    { template: "key_created", status: "sent", sentAt: expect.any(Date) },
  ])
})

test("a refused email is recorded with the mail server's response", async () => {
  const server = await startMailServer({ refuse: () => "mailbox unavailable" })
  setMailServer(server.url)
  const user = await createUser()
  await sendEmail(user, "keys_revoked", { keys: [key] })
  await server.stop()
  expect(await recordsOf(user.id)).toMatchObject([
    { status: "failed", error: expect.stringContaining("mailbox unavailable") },
  ])
})

test("a password reset token stays out of the email log, even when the mail server quotes it in its refusal", async () => {
  const server = await startMailServer({ refuse: (message) => `we do not like ${resetTokenIn(message)}` })
  setMailServer(server.url)
  const user = await createUser()
  const token = "q".repeat(43)
  await sendEmail(user, "password_reset", { token, minutes: 60 })
  await server.stop()
  const records = await recordsOf(user.id)
  expect(records).toMatchObject([{ status: "failed", error: "EMESSAGE 450" }])
  expect(JSON.stringify(records)).not.toContain(token)
})

test("an unreachable mail server or a failing email log does not fail the caller", async () => {
  setMailServer("smtp://127.0.0.1:9")
  const user = await createUser()
  await sendEmail(user, "keys_revoked", { keys: [key] })
  expect(await recordsOf(user.id)).toMatchObject([{ status: "failed", error: expect.stringContaining("ECONNREFUSED") }])
  const logged = vi.spyOn(log(), "error")
  await sendEmail({ id: "no-uuid", email: user.email }, "welcome", { name: "Ann" })
  expect(logged).toHaveBeenCalledWith(expect.anything(), "email_not_logged")
})
