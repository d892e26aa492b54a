import { randomUUID } from "node:crypto"
import { afterEach, expect, test, vi } from "vitest"
import { createAccount } from "@/lib/accounts/create"
import * as entriesOfAudit from "@/lib/audit/entries"
import type { OwnerId } from "@/lib/authority/owner"
import { env } from "@/lib/env"
import { db } from "@/lib/platform/postgres/prisma"
import { createUser } from "@/tests/support/factories"
import { whileUncommitted } from "@/tests/support/locks"
import { invite } from "./invitations"

afterEach(() => {
  Object.assign(env(), { DEMO: "off" })
})

async function staff(role = "support") {
  return (await createUser({ role })).id as OwnerId
}

function waiting() {
  return db().waitlistEntry.create({ data: { email: `${randomUUID()}@example.com`, source: "blog" } })
}

function statusOf(id: string) {
  return db().waitlistEntry.findUniqueOrThrow({ where: { id }, select: { status: true, invitedAt: true } })
}

test("an invitation is one email, is audited, and becomes joined with the account", async () => {
  Object.assign(env(), { DEMO: "on" })
  const [{ id, email }, actor, colleague] = [await waiting(), await staff(), await staff()]
  const results = await whileUncommitted(
    ["SELECT FROM waitlist_entries WHERE id = $1 FOR UPDATE", id],
    () => invite(actor, [id]),
    () => invite(colleague, [id]),
  )
  expect(results.map((result) => result.ok && result.invited)).toEqual([[email], []])
  expect(await statusOf(id)).toEqual({ status: "invited", invitedAt: expect.any(Date) })
  expect(await db().email.findMany({ where: { to: email } })).toMatchObject([
    { template: "waitlist_invite", status: "sent" },
  ])
  const entries = await db().auditEntry.findMany({ where: { targetId: id } })
  expect(entries).toMatchObject([{ action: "waitlist.invited", actorId: actor, targetType: "waitlist_entry" }])
  await createAccount({ email, name: "Ann" })
  expect(await statusOf(id)).toMatchObject({ status: "joined" })
  expect(await invite(actor, [id])).toEqual({ ok: true, invited: [], others: [email], notSent: [] })
})

test("an address whose invitation is not sent waits again, and no invitation is audited", async () => {
  const { id, email } = await waiting()
  expect(await invite(await staff(), [id])).toEqual({ ok: true, invited: [], others: [], notSent: [email] })
  expect(await statusOf(id)).toEqual({ status: "waiting", invitedAt: null })
  expect(await db().auditEntry.count({ where: { targetId: id } })).toBe(0)
})

test("an address can be invited again a day later, also if the first email was lost with the process", async () => {
  const [{ id, email }, actor] = [await waiting(), await staff()]
  const invitedAgo = async (hours: number) => {
    const invitedAt = new Date(Date.now() - hours * 3_600_000)
    await db().waitlistEntry.update({ where: { id }, data: { status: "invited", invitedAt } })
    return invitedAt
  }
  const yesterday = await invitedAgo(25)
  expect(await invite(actor, [id])).toEqual({ ok: true, invited: [], others: [], notSent: [email] })
  expect(await statusOf(id)).toEqual({ status: "invited", invitedAt: yesterday })
  Object.assign(env(), { DEMO: "on" })
  await invitedAgo(23)
  expect(await invite(actor, [id])).toEqual({ ok: true, invited: [], others: [email], notSent: [] })
  await invitedAgo(25)
  expect(await invite(actor, [id])).toEqual({ ok: true, invited: [email], others: [], notSent: [] })
  expect(await invite(actor, [id])).toEqual({ ok: true, invited: [], others: [email], notSent: [] })
})

test("several addresses are invited at once, each with its email and audit entry, and entries that are not due are named", async () => {
  Object.assign(env(), { DEMO: "on" })
  const [actor, ...entries] = [await staff(), await waiting(), await waiting(), await waiting()]
  const joined = await waiting()
  await db().waitlistEntry.update({ where: { id: joined.id }, data: { status: "joined" } })
  const result = await invite(actor, [...entries.map(({ id }) => id), joined.id, randomUUID()])
  const emails = entries.map(({ email }) => email).sort()
  expect(result).toMatchObject({ ok: true, others: [joined.email], notSent: [] })
  expect(result.ok && [...result.invited].sort()).toEqual(emails)
  const sent = await db().email.findMany({ where: { to: { in: [...emails, joined.email] } } })
  expect(sent.map(({ to }) => to).sort()).toEqual(emails)
  const audited = await db().auditEntry.findMany({ where: { targetId: { in: entries.map(({ id }) => id) } } })
  expect(audited.map(({ action, actorId }) => [action, actorId])).toEqual(
    entries.map(() => ["waitlist.invited", actor]),
  )
})

test("an error in the middle strands no entry: an entry that got no email can be invited at once", async () => {
  Object.assign(env(), { DEMO: "on" })
  const [actor, entries] = [await staff(), await Promise.all(Array.from({ length: 25 }, waiting))]
  const ids = entries.map(({ id }) => id)
  const { audit } = entriesOfAudit
  const failing = vi.spyOn(entriesOfAudit, "audit").mockImplementationOnce(audit)
  failing.mockRejectedValueOnce(new Error("no connection"))
  await expect(invite(actor, ids)).rejects.toThrow("no connection")
  failing.mockRestore()
  const sent = await db().email.count({ where: { to: { in: entries.map(({ email }) => email) } } })
  expect(sent).toBe(20)
  expect(await invite(actor, ids)).toMatchObject({
    ok: true,
    invited: { length: 5 },
    others: { length: 20 },
    notSent: [],
  })
})

test("staff who have lost the permission or are banned invite nobody, and an unknown entry is refused", async () => {
  const { id } = await waiting()
  const banned = await createUser({ role: "support", status: "banned" })
  for (const actor of [await staff("analyst"), banned.id as OwnerId]) {
    expect(await invite(actor, [id])).toEqual({ ok: false, reason: "not_permitted" })
  }
  expect(await statusOf(id)).toMatchObject({ status: "waiting" })
  expect(await invite(await staff(), [randomUUID()])).toEqual({ ok: false, reason: "not_found" })
})
