import { z } from "zod"

/** PostgreSQL stores neither NUL nor a lone surrogate. */
export function isStorable(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed()
}

// Control characters, line and paragraph separators, and what turns the direction of the text around it.
const invisible = /[\p{Cc}\p{Zl}\p{Zp}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/u
// In paragraphs the marks of right-to-left writing are at home; what reorders the text around it is not.
const invisibleInParagraphs = /[^\P{Cc}\n\t]|[\u202A-\u202E\u2066-\u2069]/u
// Fillers count as letters, and an empty braille cell as a symbol.
const visible = /(?![\p{Default_Ignorable_Code_Point}\u2800])[\p{L}\p{N}\p{P}\p{S}]/u
// Every line break there is, as typed, pasted, or sent by a form.
const lineBreak = /\r\n|[\r\v\f\u0085\u2028\u2029]/g

/** One line of text as a person types it: trimmed, visible, at most `max` characters, storable, and no API key. */
export function plainText({ name, max }: { name: string; max: number }) {
  return textOf(name, max).refine(
    (text) => !invisible.test(text),
    `${name} must be one line, without control characters.`,
  )
}

/** The same over several lines, which come out separated by a line feed whatever the browser sent. */
export function plainParagraphs({ name, max }: { name: string; max: number }) {
  return z
    .string()
    .transform((text) => text.replace(lineBreak, "\n"))
    .pipe(
      textOf(name, max).refine(
        (text) => !invisibleInParagraphs.test(text),
        `${name} must not contain control characters.`,
      ),
    )
}

function textOf(name: string, max: number) {
  return z
    .string()
    .trim()
    .min(1, `${name} must not be empty.`)
    .max(max, `${name} has at most ${max.toLocaleString("en")} characters.`)
    .refine(isStorable, `${name} contains characters that cannot be stored.`)
    .refine((text) => visible.test(text), `${name} needs a character that can be seen.`)
    .refine(
      (text) => !/tsk_(adm|usr)_\w{8,}/.test(text),
      `${name} must not hold an API key: it would be shown to others.`,
    )
}
