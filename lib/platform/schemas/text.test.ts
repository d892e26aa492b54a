import { expect, test } from "vitest"
import { kinds } from "@/lib/surfaces"
import { plainParagraphs, plainText } from "./text"

const name = plainText({ name: "Name", max: 10 })
const message = plainParagraphs({ name: "The message", max: 10 })

function refusal(schema: typeof name | typeof message, text: string): string | undefined {
  return schema.safeParse(text).error?.issues[0]?.message
}

test.each([
  ["an empty string", "", "must not be empty"],
  ["only spaces and line breaks", " \n\t\u00a0", "must not be empty"],
  ["a zero-width space", "\u200b", "a visible character"],
  ["a filler that Unicode classifies as a letter", "\u3164", "a visible character"],
  ["an empty braille cell", "\u2800", "a visible character"],
  ["only a combining mark", "\u0301", "a visible character"],
  ["NUL", "a\0b", "cannot be stored"],
  ["a lone surrogate", "a\ud800", "cannot be stored"],
  ["an escape character", "a\u001b[31m", "control characters"],
  ["tags, which hide text in an emoji", "👍\u{E0068}\u{E0069}", "hidden characters"],
  ["an interlinear annotation", "a\ufff9b", "control characters"],
  ["one character too many", "12345678901", "at most 10 characters"],
])("plainText and plainParagraphs refuse %s", (_what, text, reason) => {
  expect(refusal(name, text)).toContain(reason)
  expect(refusal(message, text)).toContain(reason)
})

test("text with an API key is refused", () => {
  const key = `${kinds.user.prefix}${"x".repeat(49)}`
  expect(refusal(plainText({ name: "Name", max: 200 }), key)).toContain("API key")
  expect(refusal(plainParagraphs({ name: "Name", max: 200 }), `why does\n${key}\nnot work?`)).toContain("API key")
})

test("plainText drops marks of direction, and plainParagraphs refuses marks that reorder text", () => {
  expect(name.parse("\u202aA\u200en\u2067n\u2069\u202c \u200f")).toBe("Ann")
  expect(refusal(name, "\u200e")).toContain("must not be empty")
  expect(refusal(message, "a\u202eb")).toContain("control characters")
})

test("plainText refuses line breaks and trims spaces", () => {
  expect(refusal(name, "a\nb")).toContain("one line")
  expect(name.parse("  Ann ")).toBe("Ann")
})

test("plainParagraphs converts every kind of line break to a line feed", () => {
  expect(message.parse("\r\na\r\nb\u2028c\vd\re\n\n")).toBe("a\nb\nc\nd\ne")
  expect(message.parse("a\tb")).toBe("a\tb")
})

test("a CRLF from a form counts as one character", () => {
  expect(message.parse("1\r\n2\r\n3\r\n4\r\n56")).toHaveLength(10)
})

test("plainParagraphs accepts every script, emoji and right-to-left marks", () => {
  for (const text of ["שלום\u200f!", "👩‍👩‍👧", "Zoë — ok", "你好", "नमस्ते"]) expect(message.parse(text)).toBe(text)
})

test("a flag that consists of tags is accepted, but no text behind it", () => {
  const england = "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}"
  for (const schema of [plainText({ name: "Name", max: 100 }), plainParagraphs({ name: "Name", max: 100 })]) {
    expect(schema.parse(`Ann ${england}${england}`)).toBe(`Ann ${england}${england}`)
    expect(refusal(schema, `${england}\u{E0061}`)).toContain("hidden characters")
  }
})
