import { z } from "zod"

/** PostgreSQL stores neither NUL nor a lone surrogate. */
export function isStorable(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed()
}

// Control characters, line and paragraph separators, and what turns the direction of the text around it.
const invisible = /[\p{Cc}\p{Zl}\p{Zp}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/u

/** One line of text as a person types it: trimmed, visible, at most `max` characters, storable, and no API key. */
export function plainText({ name, max }: { name: string; max: number }) {
  return z
    .string()
    .trim()
    .min(1, `${name} must not be empty.`)
    .max(max, `${name} has at most ${max} characters.`)
    .refine(isStorable, `${name} contains characters that cannot be stored.`)
    .refine((text) => !invisible.test(text), `${name} must be one line, without control characters.`)
    .refine((text) => /[\p{L}\p{N}\p{P}\p{S}]/u.test(text), `${name} needs a character that can be seen.`)
    .refine(
      (text) => !/tsk_(adm|usr)_\w{8,}/.test(text),
      `${name} must not hold an API key: it would be shown to others.`,
    )
}
