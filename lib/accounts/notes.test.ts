import { randomUUID } from "node:crypto"
import { expect, test } from "vitest"
import type { OwnerId } from "@/lib/authority/owner"
import { db } from "@/lib/platform/postgres/prisma"
import { limits } from "@/lib/platform/rate-limit/rate-limit"
import { createUser } from "@/tests/support/factories"
import { addNote, notesAbout } from "./notes"

async function author(role: string) {
  return (await createUser({ role })).id as OwnerId
}

test("a note has its author and is audited, and submitting its form twice adds one", async () => {
  const [{ id }, authorId] = [await createUser(), await author("admin")]
  const form = { id, requestId: randomUUID(), text: "Called about the invoice." }
  for (let times = 0; times < 2; times++) expect(await addNote(authorId, form)).toEqual({ ok: true })
  const { text } = form
  expect(await notesAbout(id, authorId)).toMatchObject([{ text, authorId }])
  const entries = await db().auditEntry.findMany({ where: { targetId: id } })
  expect(entries).toMatchObject([{ actorId: authorId, action: "user.noted", details: {} }])
})

test("an author who has lost the role adds no note, and there is none about an unknown account", async () => {
  const { id } = await createUser()
  const form = { id, requestId: randomUUID(), text: "A note" }
  expect(await addNote(await author("analyst"), form)).toEqual({ ok: false, reason: "not_permitted" })
  expect(await notesAbout(id, await author("admin"))).toEqual([])
  const unknown = { ...form, id: randomUUID() }
  expect(await addNote(await author("admin"), unknown)).toEqual({ ok: false, reason: "not_found" })
})

test("nobody reads notes about themselves or adds one", async () => {
  const [authorId, id] = [await author("admin"), await author("support")]
  const form = { id, requestId: randomUUID(), text: "Asked for a raise." }
  expect(await addNote(authorId, form)).toEqual({ ok: true })
  expect(await notesAbout(id, id)).toBeUndefined()
  expect(await addNote(id, { ...form, requestId: randomUUID() })).toEqual({ ok: false, reason: "oneself" })
  expect(await notesAbout(id, authorId)).toHaveLength(1)
})

test("an author adds a limited number of notes an hour", async () => {
  const [{ id }, authorId] = [await createUser(), await author("admin")]
  const add = () => addNote(authorId, { id, requestId: randomUUID(), text: "A note" })
  for (let count = 0; count < limits.notesAccount.tokens; count++) expect(await add()).toEqual({ ok: true })
  expect(await add()).toMatchObject({ ok: false, reason: "too_many", retryAfterSeconds: expect.any(Number) })
  expect(await db().accountNote.count({ where: { userId: id } })).toBe(limits.notesAccount.tokens)
})
