import { randomUUID } from "node:crypto"
import { expect, test } from "vitest"
import { createAccount } from "@/lib/accounts/create"
import { db } from "@/lib/platform/postgres/prisma"
import { consume, limits } from "@/lib/platform/rate-limit/rate-limit"
import { createUser } from "@/tests/support/factories"
import { joinWaitlist, waitlistForm, waitlistNoteMaxLength } from "./waitlist"

function form(fields: Record<string, string> = {}) {
  return waitlistForm.parse({ email: `${randomUUID()}@example.com`, note: "", source: "", ...fields })
}

function rowsOf(email: string) {
  return db().waitlistEntry.findMany({ where: { email } })
}

test("an entry has the normalized address, the note and the source", async () => {
  const sent = form({ email: `  ${randomUUID()}@BÜCHER.example`, note: "We are 12.\r\nSoon?", source: "blog" })
  expect(sent.email).toMatch(/@xn--bcher-kva\.example$/)
  expect(await joinWaitlist(sent, "192.0.2.10")).toEqual({ ok: true })
  expect(await rowsOf(sent.email)).toMatchObject([
    { note: "We are 12.\nSoon?", source: "blog", status: "waiting", invitedAt: null },
  ])
})

test("a known address gets the same response as a new one, regardless of its spelling, and keeps its entry", async () => {
  const email = `${randomUUID()}@example.com`
  const first = form({ email, note: "First", source: "friend" })
  const response = await joinWaitlist(first, "192.0.2.11")
  const entries = await rowsOf(email)
  const again = [email.toUpperCase(), ` ${email}`].map((spelling) => form({ email: spelling, note: "Later" }))
  const responses = await Promise.all(again.map((sent) => joinWaitlist(sent, "192.0.2.11")))
  expect(responses).toEqual([response, response])
  expect(await rowsOf(email)).toEqual(entries)
})

test("a sign-up marks the entry as joined, and an existing account gets the same response", async () => {
  const waiting = form()
  await joinWaitlist(waiting, "192.0.2.12")
  await createAccount({ email: waiting.email, name: "Ann" })
  expect(await rowsOf(waiting.email)).toMatchObject([{ status: "joined" }])
  const { email } = await createUser()
  expect(await joinWaitlist(form({ email }), "192.0.2.12")).toEqual({ ok: true })
  expect(await rowsOf(email)).toMatchObject([{ status: "joined" }])
})

test("entries are limited per client address", async () => {
  for (let count = 0; count < limits.waitlistAddress.tokens; count++) await consume("waitlistAddress", "192.0.2.13")
  const sent = form()
  expect(await joinWaitlist(sent, "192.0.2.13")).toMatchObject({ ok: false, reason: "too_many" })
  expect(await rowsOf(sent.email)).toEqual([])
  expect(await joinWaitlist(sent, "192.0.2.14")).toEqual({ ok: true })
})

test.each(["", "Blog", "a b", "1st", "../x", "x".repeat(65), "<b>", "a\0"])(
  "the invalid source %j is stored as website",
  (source) => {
    expect(form({ source }).source).toBe("website")
  },
)

test("an empty note is stored as null", () => {
  for (const note of ["", "  ", "\r\n"]) expect(form({ note }).note).toBeNull()
})

test.each([
  ["an address without a domain", { email: "ann" }],
  ["an address with NUL", { email: "a\0@example.com" }],
  ["an address of 255 characters", { email: `${"x".repeat(243)}@example.com` }],
  ["an invisible note", { note: "\u200b" }],
  ["a note that is too long", { note: "x".repeat(waitlistNoteMaxLength + 1) }],
  ["a status", { status: "invited" }],
])("the form refuses %s", (_what, fields) => {
  const sent = { email: "ann@example.com", note: "", source: "", ...fields }
  expect(waitlistForm.safeParse(sent).success).toBe(false)
})
