import { expect, test } from "vitest"
import { csvLine } from "./csv"

test.each<[unknown, string]>([
  ["plain", "plain"],
  ["me+you@example.com", "me+you@example.com"],
  ["", ""],
  [null, ""],
  [undefined, ""],
  [-5, "-5"],
  [1.5, "1.5"],
  [true, "true"],
  [new Date(0), "1970-01-01T00:00:00.000Z"],
  ['a "quoted", text', '"a ""quoted"", text"'],
  ["two\nlines", '"two\nlines"'],
  ["hidden \u202e\r", "hidden ⟨U+202E⟩␍"],
  ["a;b", '"a;b"'],
  [["a", "b"], '"[""a"",""b""]"'],
  [{ via: "password" }, '"{""via"":""password""}"'],
])("%j is the cell %s", (value, cell) => {
  expect(csvLine([value])).toBe(`${cell}\r\n`)
})

test.each(["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\n=1", "＝1+1", "＋1", "－1", "＠SUM(A1)"])(
  "%j is not a formula: an apostrophe marks it as text",
  (text) => {
    expect(csvLine([text])).toMatch(/^"'/)
    // Some spreadsheets treat a semicolon or a tab as a separator, even in quotes.
    expect(csvLine([`a;${text}`])).toContain("a;'")
  },
)

test.each(["  =1+1", "\u00a0=1", "\u3000@A1"])(
  "%j is none after its blanks, which some spreadsheets leave out",
  (text) => {
    expect(csvLine([text])).toBe(`"'${text}"\r\n`)
  },
)

test("a line has a comma between its cells", () => {
  expect(csvLine(["a", 1, null, "b"])).toBe("a,1,,b\r\n")
})
