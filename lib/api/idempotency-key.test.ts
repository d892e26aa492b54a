import { expect, test } from "vitest"
import { newSecret } from "@/lib/keys/secret"
import { readIdempotencyKey } from "./idempotency-key"

function read(...values: string[]) {
  const headers = new Headers()
  for (const value of values) headers.append("Idempotency-Key", value)
  return readIdempotencyKey(headers)
}

test("without the header, there is no key", () => {
  expect(read()).toBeNull()
})

test.each([
  ["bare", "order-42", "order-42"],
  ["in quotes", '"order-42"', "order-42"],
  ["with surrounding whitespace, which is not part of a header value", "  order-42 ", "order-42"],
  ["of 1 character", "x", "x"],
  ["of 255 characters", "x".repeat(255), "x".repeat(255)],
  ["of 255 characters in quotes", `"${"x".repeat(255)}"`, "x".repeat(255)],
  ["of every visible ASCII character except the quotation mark", visible(), visible()],
])("a key %s is accepted", (_form, sent, key) => {
  expect(read(sent)).toBe(key)
})

test.each([
  ["empty", [""]],
  ["blank", ["   "]],
  ["empty in quotes", ['""']],
  ["256 characters long", ["x".repeat(256)]],
  ["256 characters long in quotes", [`"${"x".repeat(256)}"`]],
  ["with a space in it", ["order 42"]],
  ["with a tab in it", ["order\t42"]],
  ["not ASCII", ["ordér"]],
  ["with a control character", ["order\x7f"]],
  ["with one quotation mark", ['"order']],
  ["with a quotation mark in it", ['or"der']],
  ["a list of two quoted keys", ['"one","other"']],
  ["sent twice", ["one", "other"]],
  ["sent twice with the same value", ["one", "one"]],
])("a key that is %s is refused, and the message states what is accepted", (_form, sent) => {
  expect(() => read(...sent)).toThrow(
    expect.objectContaining({
      status: 400,
      code: "bad_request",
      message: "Idempotency-Key must be 1 to 255 visible ASCII characters, sent once.",
    }),
  )
})

test.each(["user", "admin"] as const)(
  "a value that is or contains a %s API key is refused, because it would be stored",
  (surface) => {
    const secret = newSecret(surface)
    for (const sent of [secret, `"${secret}"`, `${secret}-1`, `retry:${secret}`]) {
      expect(() => read(sent)).toThrow(
        expect.objectContaining({
          status: 400,
          code: "bad_request",
          message: "Idempotency-Key must not contain an API key. Generate a random key for each call.",
        }),
      )
    }
  },
)

function visible(): string {
  return String.fromCharCode(...Array.from({ length: 0x7e - 0x20 }, (_, index) => 0x21 + index)).replace('"', "")
}
