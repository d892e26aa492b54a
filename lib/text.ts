import { z } from "zod"

/** PostgreSQL stores neither NUL nor a lone surrogate. */
export function isStorable(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed()
}

/** One line of text as a person types it: trimmed, not empty, at most `max` characters, storable. */
export function plainText({ name, max }: { name: string; max: number }) {
  return z
    .string()
    .trim()
    .min(1, `${name} must not be empty.`)
    .max(max, `${name} has at most ${max} characters.`)
    .refine(isStorable, `${name} contains characters that cannot be stored.`)
}
