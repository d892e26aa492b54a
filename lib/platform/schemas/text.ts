import { z } from "zod"
import { flagsOfTags } from "@/lib/platform/text/visible-text"
import { anyPrefix } from "@/lib/surfaces"

/** PostgreSQL cannot store NUL or a lone surrogate. */
export function isStorable(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed()
}

// Control characters, line and paragraph separators, and deprecated formatting characters.
const invisible = /[\p{Cc}\p{Zl}\p{Zp}\u206A-\u206F\uFFF9-\uFFFB]/u
// Paragraphs may contain right-to-left marks, but no characters that reorder the surrounding text.
const invisibleInParagraphs = /[^\P{Cc}\n\t]|[\u202A-\u202E\u2066-\u206F\uFFF9-\uFFFB]/u
// Tags hide text that only programs read.
const tags = /[\u{E0000}-\u{E007F}]/u
// Unicode classifies invisible fillers as letters, and the empty braille cell as a symbol.
const visible = /(?![\p{Default_Ignorable_Code_Point}\u2800])[\p{L}\p{N}\p{P}\p{S}]/u
// Every line break that a browser, a clipboard or a form may use in place of a line feed.
const lineBreak = /\r\n|[\r\v\f\u0085\u2028\u2029]/g
const apiKey = new RegExp(`${anyPrefix}\\w{8,}`)

/** Marks, embeddings, overrides and isolates of direction, which a clipboard brings along unseen. */
export const direction = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g

export function plainText({ name, max }: { name: string; max: number }) {
  const typed = z.string().overwrite((text) => text.replace(direction, ""))
  return textOf(name, max, typed).refine(
    (text) => !invisible.test(text),
    `${name} must be one line, without control characters.`,
  )
}

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

function textOf(name: string, max: number, typed = z.string()) {
  return typed
    .trim()
    .min(1, `${name} must not be empty.`)
    .max(max, `${name} can have at most ${max.toLocaleString("en")} characters.`)
    .refine(isStorable, `${name} contains characters that cannot be stored.`)
    .refine((text) => visible.test(text), `${name} must contain a visible character.`)
    .refine((text) => !tags.test(text.replaceAll(flagsOfTags, "")), `${name} must not contain hidden characters.`)
    .refine((text) => !apiKey.test(text), `${name} must not contain an API key: other people would see it.`)
}

export function isUuid(text: string): boolean {
  return z.uuid().safeParse(text).success
}
