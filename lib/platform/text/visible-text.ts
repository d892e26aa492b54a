// Some characters are invisible or reorder the text around them, so that people and programs read different texts.

/** England, Scotland and Wales: a black flag, followed by tags. */
export const flagsOfTags =
  /\u{1F3F4}\u{E0067}\u{E0062}(?:\u{E0065}\u{E006E}\u{E0067}|\u{E0073}\u{E0063}\u{E0074}|\u{E0077}\u{E006C}\u{E0073})\u{E007F}/gu

// Line feeds and tabs are layout. Fonts show a box for characters that are not assigned yet, such as newer emoji.
const hidden =
  /(?![\n\t])[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\uFFF9-\uFFFB]/u

/** Scripts whose spelling needs joiners (UAX #31, layout and format control characters). */
const joining =
  /[\p{scx=Arab}\p{scx=Syrc}\p{scx=Nkoo}\p{scx=Mong}\p{scx=Deva}\p{scx=Beng}\p{scx=Guru}\p{scx=Gujr}\p{scx=Orya}\p{scx=Taml}\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Tibt}]/u

/** Where a hidden character belongs to the spelling. A second one after it has no effect, so it does not. */
const spelling = [
  /(?<=[\p{Extended_Pictographic}0-9#*])[\uFE0E\uFE0F]/u,
  /(?<=\p{Extended_Pictographic}(?:\uFE0F|[\u{1F3FB}-\u{1F3FF}])?)\u200D(?=\p{Extended_Pictographic})/u,
  /(?<=\p{Script=Han})[\uFE00-\uFE0F\u{E0100}-\u{E01EF}]/u,
  /(?<=\p{Script=Mongolian})[\u180B-\u180F]/u,
  new RegExp(`(?<=${joining.source})[\\u200C\\u200D]`, "u"),
  // The end of a word in scripts that write no spaces.
  /(?<=[\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}])\u200B/u,
]
  .map(({ source }) => source)
  .join("|")

const shown = new RegExp(`(${flagsOfTags.source})|(?=${hidden.source})(?!${spelling}).`, "gsu")

/**
 * A symbol replaces each invisible or reordering character: `␛`, or `⟨U+202E⟩` where Unicode has none. Emoji and the
 * spelling of languages stay as they are.
 */
export function visible(text: string): string {
  return text.replaceAll(shown, (found, flag?: string) => flag ?? symbolOf(found))
}

function symbolOf(character: string): string {
  const code = character.codePointAt(0) ?? 0
  if (code < 0x20) return String.fromCodePoint(0x2400 + code)
  return code === 0x7f ? "␡" : `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`
}
