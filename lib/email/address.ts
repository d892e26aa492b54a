import { domainToASCII } from "node:url"
import { z } from "zod"

const maxEmailLength = 254

/**
 * Returns one spelling per mailbox: NFKC, lower case, ASCII domain. Call it before every look-up and insert. Truncates
 * overlong input first, because the time of normalization grows with the square of the length.
 */
export function normalizeEmail(input: string): string {
  const text = input.slice(0, maxEmailLength).normalize("NFKC").trim().toLowerCase()
  const at = text.lastIndexOf("@")
  return at < 0 ? text : `${text.slice(0, at)}@${domainToASCII(text.slice(at + 1))}`
}

/**
 * What limits count emails to an address by. Many mail servers deliver to one mailbox whatever follows a plus sign, so
 * all such spellings count as one. They never use up the limit of the plain address, which others know.
 */
export function mailboxOf(email: string): string {
  return email.replace(/\+[^@]*@/, "+@")
}

/** An email address from a form, normalized. */
export const emailAddress = addressOf(
  "Enter an email address like name@example.com.",
  `An email address can have at most ${maxEmailLength} characters.`,
)

/** An email address from a query parameter, normalized. */
export const emailParameter = addressOf(
  "must be a whole email address like name@example.com",
  `must have at most ${maxEmailLength} characters`,
)

function addressOf(expected: string, tooLong: string) {
  return z.string().max(maxEmailLength, tooLong).transform(normalizeEmail).pipe(z.email(expected).max(maxEmailLength))
}
