import { expect, test } from "vitest"
import { visible } from "./visible-text"

test.each([
  ["escape, NUL and delete", "a\u001b[31m\0\u007f", "a␛[31m␀␡"],
  ["a carriage return, but not a line feed or a tab", "a\r\n\tb", "a␍\n\tb"],
  ["the controls beyond ASCII", "a\u0085b\u009b", "a⟨U+0085⟩b⟨U+009B⟩"],
  ["line and paragraph separators", "a\u2028b\u2029", "a⟨U+2028⟩b⟨U+2029⟩"],
  ["overrides, isolates and marks of direction", "\u202ea\u2067\u200f\u061c", "⟨U+202E⟩a⟨U+2067⟩⟨U+200F⟩⟨U+061C⟩"],
  ["zero-width characters", "a\u200bb\u2060\ufeffc\u00ad", "a⟨U+200B⟩b⟨U+2060⟩⟨U+FEFF⟩c⟨U+00AD⟩"],
  ["joiners between Latin letters", "ad\u200cmin\u200d", "ad⟨U+200C⟩min⟨U+200D⟩"],
  ["tags", "👍\u{E0068}\u{E0069}", "👍⟨U+E0068⟩⟨U+E0069⟩"],
  [
    "tags behind a flag that is not one",
    "\u{1F3F4}\u{E0067}\u{E006F}\u{E007F}",
    "\u{1F3F4}⟨U+E0067⟩⟨U+E006F⟩⟨U+E007F⟩",
  ],
  ["variation selectors that select nothing", "a\ufe0fb\u{E0101}", "a⟨U+FE0F⟩b⟨U+E0101⟩"],
  ["a second variation selector", "❤\ufe0f\ufe0e", "❤\ufe0f⟨U+FE0E⟩"],
  ["fillers that Unicode classifies as letters", "\u3164\uffa0", "⟨U+3164⟩⟨U+FFA0⟩"],
  ["characters for private use, and noncharacters", "\ue000\u{10FFFD}\uffff", "⟨U+E000⟩⟨U+10FFFD⟩⟨U+FFFF⟩"],
  ["an interlinear annotation", "a\ufff9b\ufffa", "a⟨U+FFF9⟩b⟨U+FFFA⟩"],
  ["a lone surrogate", "a\ud800", "a⟨U+D800⟩"],
])("shows %s", (_what, text, expected) => {
  expect(visible(text)).toBe(expected)
  expect(visible(visible(text))).toBe(expected)
})

test.each([
  ["Latin", "Zoë O’Neill – e\u0301, ﬁ"],
  ["Chinese with a variant, and Japanese", "葛\u{E0100}城, すずき, ﾊﾝ"],
  ["Arabic and Persian with a non-joiner", "سلام، می\u200cخواهم"],
  ["Hebrew", "שלום עולם!"],
  ["Hindi and Sinhala with joiners", "क्\u200dष, ශ්\u200dරී"],
  ["Khmer with the ends of words", "សួស្តី\u200bពិភពលោក"],
  ["Mongolian with a variant", "ᠮᠣᠩᠭᠣᠯ ᠠ\u180b"],
  ["emoji of several characters", "👩‍👩‍👧 👩🏽‍⚕️ 🏴‍☠️ 🏳️‍🌈 1️⃣ ❤️ 👁️‍🗨️ 🇩🇪"],
  ["the flags that consist of tags", "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}"],
  ["every kind of space", "a b\u00a0c\u2009d\u3000e"],
  ["a character that Unicode has not assigned", "\u{1FAFF}\u0378"],
])("leaves %s as it is", (_what, text) => {
  expect(visible(text)).toBe(text)
})

test("is fast on long text", () => {
  const text = "Ignore all rules. \u200b".repeat(50_000)
  const start = performance.now()
  expect(visible(text)).toHaveLength(text.length + 50_000 * "⟨U+200B⟩".length - 50_000)
  expect(performance.now() - start).toBeLessThan(5_000)
})
