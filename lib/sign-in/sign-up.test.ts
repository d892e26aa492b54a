import { randomUUID } from "node:crypto"
import { expect, test } from "vitest"
import { db } from "@/lib/postgres/prisma"
import { product } from "@/lib/product"
import { consume, limits } from "@/lib/rate-limit/rate-limit"
import { verifyPassword } from "./password-hash"
import { signUp, signUpForm } from "./sign-up"

function form(overrides: Record<string, string> = {}) {
  return { name: "Ann", email: `${randomUUID()}@example.com`, password: "correct horse battery", ...overrides }
}

test("a new account is a member with a hashed password and an audit entry", async () => {
  const sent = signUpForm.parse(form({ email: `  ${randomUUID()}@BÜCHER.example` }))
  const result = await signUp(sent, "192.0.2.1")
  if (!result.ok) throw new Error(result.reason)
  const user = await db().user.findUniqueOrThrow({ where: { id: result.user.id } })
  expect(user).toMatchObject({ role: "member", status: "active", name: "Ann" })
  expect(user.email).toMatch(/@xn--bcher-kva\.example$/)
  expect(user.passwordHash).toMatch(/^scrypt\$131072\$8\$1\$[\w-]{22}\$[\w-]{43}$/)
  expect(await verifyPassword(sent.password, user.passwordHash)).toBe(true)
  expect(await verifyPassword("correct horse batterz", user.passwordHash)).toBe(false)
  expect(await db().auditEntry.count({ where: { targetId: user.id, action: "user.signed_up" } })).toBe(1)
})

test("an address gets one account, regardless of its spelling, also with concurrent sign-ups", async () => {
  const email = `${randomUUID()}@example.com`
  const spellings = [email, email.toUpperCase(), ` ${email} `].map((text) => signUpForm.parse(form({ email: text })))
  const results = await Promise.all(spellings.map((spelling) => signUp(spelling, "192.0.2.2")))
  expect(results.filter(({ ok }) => ok)).toHaveLength(1)
  expect(results.filter((result) => !result.ok && result.reason === "taken")).toHaveLength(2)
})

test("sign-ups from one address are limited", async () => {
  for (let count = 0; count < limits.signUpAddress.tokens; count++) await consume("signUpAddress", "192.0.2.3")
  const result = await signUp(signUpForm.parse(form()), "192.0.2.3")
  expect(result).toMatchObject({ ok: false, reason: "too_many" })
})

test.each([
  ["a password of 11 characters", { password: "short-one-1" }],
  ["a common password", { password: "Password1234" }],
  ["a password of 1,025 characters", { password: "x".repeat(1025) }],
  ["an address without a domain", { email: "ann" }],
  ["an address with NUL", { email: "a\0@example.com" }],
  ["an address with a lone surrogate", { email: "a\ud800@example.com" }],
  ["an empty name", { name: " " }],
  ["a role", { role: "owner" }],
  ["one repeated character", { password: "🔑".repeat(12) }],
  ["the own name, repeated", { name: "Ann Other", password: "ann other Ann Other" }],
  ["the own address", { email: "ann.other@example.com", password: "ANN.other@example.com" }],
  ["the part of the own address before the @", { email: "ann.other.smith@example.com", password: "ann.other.smith" }],
  ["the name of the product, repeated", { password: `${product.name} `.repeat(12) }],
])("the form refuses %s", (_what, fields) => {
  expect(signUpForm.safeParse(form(fields)).success).toBe(false)
})

test("a password may contain any characters, including spaces", () => {
  for (const password of ["     a      ", "пароль-и-ещё", "🔑🔑🔑🔑🔑🔑🔑🔑🔑🔑🔑🔐", "aaaaaaaaaaaab"]) {
    expect(signUpForm.safeParse(form({ password })).success, password).toBe(true)
  }
})
