import { randomUUID } from "node:crypto"
import { expect, test, vi } from "vitest"
import { env } from "@/lib/env"
import { db } from "@/lib/platform/postgres/prisma"
import { kinds } from "@/lib/surfaces"
import { builtActions, callAction, sessionOf } from "@/tests/support/client"
import { createUser } from "@/tests/support/factories"
import { mail, server } from "@/tests/support/shared-server"
import { formCases, passwordHash } from "./access/forms"

// Emails that the built server sends after an action.

const actions = await builtActions()

/** Calls an action in a session, and waits for the email to `to`. It is sent after the response. */
async function emailAfter(
  name: string,
  cookie: string,
  { path, fields, to }: { path: string; fields: Record<string, string>; to: string },
) {
  const action = actions.find((candidate) => candidate.name === name) ?? expect.fail(`There is no action ${name}.`)
  const sent = mail.emails.length
  await callAction(server, action, { path, fields, headers: { cookie } })
  const isNew = (email: string, index: number) => index >= sent && email.includes(`\nTo: ${to}\r\n`)
  const index = await vi.waitUntil(() => mail.emails.findIndex(isNew) + 1, { timeout: 20_000 })
  return { text: mail.emails[index - 1] ?? "", html: mail.htmlParts[index - 1] ?? "" }
}

test("a changed role and a ban are reported to the account, in both parts of the email", async () => {
  const [admin, target] = [await sessionOf(await createUser({ role: "admin" })), await createUser()]
  const [path, to] = [`/admin/users/${target.id}`, target.email]
  const changed = { path, to, fields: { id: target.id, role: "support" } }
  const { text, html } = await emailAfter("admin/users/[id] setRole", admin, changed)
  expect(text).toContain("Subject: Your role is now support")
  expect(html).toContain(`href="${env().BASE_URL}/account"`)
  expect(html).toMatch(/^<!DOCTYPE html><html lang="en">.*The role of your account was changed to support\./s)

  const banned = { path, to, fields: { id: target.id, reason: "A private note" } }
  const ban = await emailAfter("admin/users/[id] ban", admin, banned)
  expect(ban.text).toContain("Subject: Your account was banned")
  expect(ban.text + ban.html).not.toContain("A private note")
})

test("a new admin key is reported to the owners, a new user key is not", async () => {
  const [owner, admin] = [await createUser({ role: "owner" }), await createUser({ role: "admin" })]
  const cookie = await sessionOf(admin)
  const fields = (scopes: string) => ({ requestId: randomUUID(), name: "Nightly report", expires: "never", scopes })
  const own = { path: kinds.user.page, fields: fields("read"), to: admin.email }
  expect((await emailAfter("api-keys createUserKey", cookie, own)).text).toContain("Nightly report")
  const issued = { path: kinds.admin.page, fields: fields("users.read"), to: owner.email }
  const { text, html } = await emailAfter("admin/api-keys createAdminKey", cookie, issued)
  expect(text).toContain(`${admin.email} created the admin key ${kinds.admin.prefix}`)
  expect(html).toContain(`${admin.email} created the admin key ${kinds.admin.prefix}`)
  expect(mail.emails.filter((email) => email.includes(`\nTo: ${owner.email}\r\n`))).toHaveLength(1)
})

/** The templates of the emails to an address. */
async function templatesTo(to: string): Promise<string[]> {
  return (await db().email.findMany({ where: { to } })).map(({ template }) => template)
}

/** The emails to the account that calls the action. */
const reports = {
  "account/security change": "password_changed",
  "account/security disconnect": "provider_disconnected",
  "account/security/two-factor addApp": "factor_added",
  "account/security/two-factor addKey": "factor_added",
  "account/security/two-factor remove": "factor_removed",
  "account/security/two-factor replaceCodes": "recovery_codes_replaced",
  "api-keys rotateUserKey": "key_rotated",
  "api-keys revokeUserKey": "keys_revoked",
  "admin/api-keys rotateAdminKey": "key_rotated",
  "admin/api-keys revokeAdminKey": "keys_revoked",
}

test.each(Object.entries(reports))("%s: the account receives the email %s", async (name, template) => {
  const { path, prepare } = formCases[name] ?? expect.fail(name)
  const account = await createUser({ role: "admin", passwordHash })
  const cookie = await sessionOf(account)
  const { fields = {} } = await prepare(account)
  await emailAfter(name, cookie, { path, fields, to: account.email })
  // An email is recorded once the mail server has accepted it.
  await expect.poll(() => templatesTo(account.email)).toEqual([template])
})

test("a key that staff revoke is reported to its owner", async () => {
  const name = "admin/users/[id] revokeKey"
  const staff = await createUser({ role: "admin" })
  const { fields = {} } = (await formCases[name]?.prepare(staff)) ?? expect.fail()
  const { user } = await db().apiKey.findUniqueOrThrow({ where: { id: fields.id ?? "" }, select: { user: true } })
  await emailAfter(name, await sessionOf(staff), { path: `/admin/users/${user.id}`, fields, to: user.email })
  await expect.poll(() => templatesTo(user.email)).toEqual(["keys_revoked"])
})
