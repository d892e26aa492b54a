import { expect, test } from "vitest"
import { newSecret } from "@/lib/keys/secret"
import { Refusal } from "./errors"
import { isPlain, isWord, joined, notKept, ours, quoted, said, saidAbout } from "./said"

const names = ["a", "limit", "createdAt", "items.0.name", "user_id", "sha256", "PROPFIND"]
const hidden = [
  "",
  "1a",
  "two words",
  "ann@example.com",
  "192.0.2.7",
  "2001:db8::1",
  "+49151234567",
  newSecret("user"),
  newSecret("admin").slice(0, 20),
  "x".repeat(33),
  "a1b2c3d4e5f6a7b8",
  "sk_live_abcdef",
  "ghp_abcdefgh",
  "eyJhbGciOi",
  "a-b",
  "a\nb",
  "ünder",
  "card_4111111111",
]

test.each(names)("%s looks like a name, and is kept", (text) => {
  expect(isPlain(text)).toBe(true)
  expect(quoted(text)).toEqual({ sent: JSON.stringify(text), kept: JSON.stringify(text) })
})

test.each(hidden)("%j is sent to the client only", (text) => {
  expect(isPlain(text)).toBe(false)
  expect(quoted(text).kept).toBe(notKept)
  expect(said`got ${text}.`).toEqual({ sent: `got ${text}.`, kept: `got ${notKept}.` })
})

test.each([
  ["eur", true],
  ["last_week", true],
  ["hunter2", false],
  ["correcthorsebatterystaple", false],
  ["MarieSchmidt", false],
  ["hf_abcdefgh", false],
])("the value %s is kept: %s", (text, isKept) => {
  expect(quoted(text, text, isWord).kept).toBe(isKept ? JSON.stringify(text) : notKept)
})

test("numbers, the product's own text and texts of both kinds keep what they say", () => {
  const limit = said`at most ${500} of ${ours("a, b")}`
  expect(limit.kept).toBe("at most 500 of a, b")
  expect(said`${limit}: ${joined([quoted("name"), quoted("a b")])}`).toEqual({
    sent: 'at most 500 of a, b: "name", "a b"',
    kept: `at most 500 of a, b: "name", ${notKept}`,
  })
})

test("a long text is shortened for the client", () => {
  expect(quoted("x".repeat(80)).sent).toBe(`"${"x".repeat(60)}…"`)
})

test.each([
  ["ann@example.com", "ann@example.com is taken"],
  ["ann@example.com", "ANN@EXAMPLE.COM is taken"],
  ["ann@example.com", "There is no host for ann@example.com."],
  ["12345678", "is 1970-01-01 in epoch milliseconds; send 12345678000"],
  [{ list: [{ note: "my own words" }] }, "my own words is too short"],
  [{ "a secret field": 1 }, 'has no "a secret field"'],
])("a schema's message that repeats %j is not kept", (value, message) => {
  expect(saidAbout(value, message)).toEqual({ sent: message, kept: notKept })
})

test.each([
  ["0", "must be an integer from 1 to 500"],
  ["You must have words", "must have at most 10,000 characters"],
  [{ text: "x".repeat(20) }, "text must have 10 characters"],
])("a schema's own message about %j is kept", (value, message) => {
  expect(saidAbout(value, message).kept).toBe(message)
})

test("a message that was not written with the tag is not kept", () => {
  expect(new Refusal(451, "blocked", "Not for ann@example.com.").kept).toBeUndefined()
  expect(new Refusal(451, "blocked", said`Not for ${"ann@example.com"}.`)).toMatchObject({
    message: "Not for ann@example.com.",
    kept: `Not for ${notKept}.`,
  })
})
