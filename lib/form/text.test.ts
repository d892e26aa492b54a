import { expect, test } from "vitest"
import { plainParagraphs, plainText } from "./text"

const name = plainText({ name: "Name", max: 10 })
const message = plainParagraphs({ name: "The message", max: 10 })

function refusal(schema: typeof name | typeof message, text: string): string | undefined {
  return schema.safeParse(text).error?.issues[0]?.message
}

test.each([
  ["nothing", "", "must not be empty"],
  ["spaces and line breaks alone", " \n\t\u00a0", "must not be empty"],
  ["a zero-width space", "\u200b", "a character that can be seen"],
  ["a filler that counts as a letter", "\u3164", "a character that can be seen"],
  ["an empty braille cell", "\u2800", "a character that can be seen"],
  ["a combining mark alone", "\u0301", "a character that can be seen"],
  ["NUL", "a\0b", "cannot be stored"],
  ["a lone surrogate", "a\ud800", "cannot be stored"],
  ["an escape character", "a\u001b[31m", "control characters"],
  ["text that turns the direction", "a\u202eb", "control characters"],
  ["one character too many", "12345678901", "at most 10 characters"],
])("neither a line nor paragraphs take %s", (_what, text, reason) => {
  expect(refusal(name, text)).toContain(reason)
  expect(refusal(message, text)).toContain(reason)
})

test("an API key is refused: others would see it", () => {
  const key = `tsk_usr_${"x".repeat(49)}`
  expect(refusal(plainText({ name: "Name", max: 200 }), key)).toContain("API key")
  expect(refusal(plainParagraphs({ name: "Name", max: 200 }), `why does\n${key}\nnot work?`)).toContain("API key")
})

test("a line is one line", () => {
  expect(refusal(name, "a\nb")).toContain("one line")
  expect(name.parse("  Ann ")).toBe("Ann")
})

test("paragraphs keep their lines, however a browser or a clipboard writes the breaks", () => {
  expect(message.parse("\r\na\r\nb\u2028c\vd\re\n\n")).toBe("a\nb\nc\nd\ne")
  expect(message.parse("a\tb")).toBe("a\tb")
})

test("a form's line breaks, two characters each on the way, count as one", () => {
  expect(message.parse("1\r\n2\r\n3\r\n4\r\n56")).toHaveLength(10)
})

test("paragraphs take every script and emoji, right-to-left marks too", () => {
  for (const text of ["שלום\u200f!", "👩‍👩‍👧", "Zoë — ok", "你好", "नमस्ते"]) expect(message.parse(text)).toBe(text)
})
