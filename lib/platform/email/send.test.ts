import { afterEach, expect, test, vi } from "vitest"
import { env } from "@/lib/env"
import { db } from "@/lib/platform/postgres/prisma"
import { limits } from "@/lib/platform/rate-limit/rate-limit"
import { log } from "@/lib/platform/telemetry/log"
import { product } from "@/lib/product"
import { singletons } from "@/lib/singleton"
import { kinds } from "@/lib/surfaces"
import { createUser } from "@/tests/support/factories"
import { resetTokenIn, startMailServer } from "@/tests/support/mail-server"
import { mailbox } from "./mailbox"
import { sendEmail } from "./send"

const key = {
  surface: "user",
  name: "Nightly report",
  start: `${kinds.user.prefix}Ab3d`,
} as const

afterEach(() => {
  delete env().SMTP_URL
  delete env().EMAIL_FROM
  Object.assign(env(), { DEMO: "off", VERIFY_EMAIL: "on" })
  delete singletons.smtp
})

function setMailServer(url: string) {
  Object.assign(env(), { SMTP_URL: url, EMAIL_FROM: "Shop <hello@example.com>" })
}

async function recordsOf(userId: string) {
  return db().email.findMany({ where: { userId } })
}

test("without a mail server an email is recorded as not sent", async () => {
  const user = await createUser()
  await sendEmail(user, "welcome")
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
  expect(server.emails[0]).toContain("Content-Type: multipart/alternative")
  for (const part of [server.emails[0], server.htmlParts[0]]) {
    expect(part).toContain("Nightly report")
    expect(part).toContain(product.supportEmail)
    expect(part).toContain(`${env().BASE_URL}${kinds.user.page}`)
  }
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
  await sendEmail({ id: "no-uuid", email: user.email }, "welcome")
  expect(logged).toHaveBeenCalledWith(expect.anything(), "email_not_logged")
})

test("the demo keeps the last hundred emails in the process, newest first, and records them as sent", async () => {
  env().DEMO = "on"
  const user = await createUser()
  await sendEmail(user, "password_reset", { token: "a-token", minutes: 60 })
  const kept = {
    to: user.email,
    subject: "Reset your password",
    html: expect.stringContaining(`href="${env().BASE_URL}/reset-password/a-token"`),
    text: expect.stringContaining(`${env().BASE_URL}/reset-password/a-token`),
  }
  expect(mailbox()[0]).toEqual({ id: expect.any(String), sentAt: expect.any(Date), ...kept })
  expect(await recordsOf(user.id)).toMatchObject([{ status: "sent", sentAt: expect.any(Date) }])

  for (let count = 0; count < 100; count++) await sendEmail(user, "key_created", key)
  expect(mailbox()).toHaveLength(100)
  expect(mailbox().some(({ subject }) => subject === "Reset your password")).toBe(false)
  expect(new Set(mailbox().map(({ id }) => id)).size).toBe(100)
  await sendEmail(user, "keys_revoked", { keys: [key] })
  expect(mailbox()[0]?.subject).toContain("was revoked")
})

test("without verification no email is exempt from the limit, and none contains a name that a person typed", async () => {
  Object.assign(env(), { DEMO: "on", VERIFY_EMAIL: "off" })
  const user = await createUser()
  await sendEmail(user, "keys_revoked", { keys: [key] })
  for (let count = 0; count < limits.emailsAddress.tokens; count++) await sendEmail(user, "key_created", key)
  const records = await recordsOf(user.id)
  expect(records.filter(({ status }) => status === "sent")).toHaveLength(limits.emailsAddress.tokens)
  for (const { text } of mailbox().slice(0, limits.emailsAddress.tokens)) {
    expect(text).toContain(key.start)
    expect(text).not.toContain(key.name)
  }
  // Outsiders can request resets, but not use up the account's emails with them.
  await sendEmail(user, "password_reset", { token: "t", minutes: 60 })
  expect(mailbox()[0]?.subject).toBe("Reset your password")
})

test("a demo with a mail server sends its emails and keeps none", async () => {
  env().DEMO = "on"
  const server = await startMailServer()
  setMailServer(server.url)
  const [user, before] = [await createUser(), mailbox().length]
  await sendEmail(user, "key_created", key)
  await server.stop()
  expect([server.emails.length, mailbox().length]).toEqual([1, before])
})

test("an address gets a limited number of emails a day of all kinds, but every security email", async () => {
  env().DEMO = "on"
  const [user, other] = [await createUser(), await createUser()]
  for (let count = 0; count < limits.emailsAddress.tokens; count++) {
    if (count % 2) await sendEmail(user, "welcome")
    else await sendEmail(user, "key_created", key)
  }
  await sendEmail({ ...user, email: user.email.toUpperCase() }, "verify_address", { token: "t", hours: 24 })
  await sendEmail(user, "password_changed")
  await sendEmail(other, "welcome")
  const records = await recordsOf(user.id)
  expect(records.filter(({ status }) => status === "sent")).toHaveLength(limits.emailsAddress.tokens + 1)
  expect(records.filter(({ status }) => status !== "sent")).toMatchObject([
    { template: "verify_address", status: "not_sent", error: "limit", sentAt: null },
  ])
  expect(mailbox()[1]).toMatchObject({ to: user.email, subject: "Your password was changed" })
  expect(mailbox()[0]).toMatchObject({ to: other.email })
})

test("emails that anybody with the address can cause leave the rest of its limit to other emails", async () => {
  env().DEMO = "on"
  const user = await createUser()
  for (let count = 0; count < limits.emailsAddress.tokens; count++) {
    if (count % 2) await sendEmail(user, "already_registered")
    else await sendEmail(user, "verify_address", { token: "t", hours: 24 })
  }
  const left = limits.emailsAddress.tokens - limits.unsolicitedEmailsAddress.tokens
  for (let count = 0; count < left; count++) await sendEmail(user, "welcome")
  const sent = (await recordsOf(user.id)).filter(({ status }) => status === "sent")
  expect(sent.filter(({ template }) => template !== "welcome")).toHaveLength(limits.unsolicitedEmailsAddress.tokens)
  expect(sent.filter(({ template }) => template === "welcome")).toHaveLength(left)
})
