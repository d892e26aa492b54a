import { domainToASCII } from "node:url"
import { z } from "zod"

const maxEmailLength = 254

/**
 * One spelling for one mailbox: NFKC, lower case, ASCII domain. Call it before every look-up and every insert. What is
 * longer than an address may be is cut first, for normalising takes time that grows with the square of the length.
 */
export function normaliseEmail(input: string): string {
  const text = input.slice(0, maxEmailLength).normalize("NFKC").trim().toLowerCase()
  const at = text.lastIndexOf("@")
  return at < 0 ? text : `${text.slice(0, at)}@${domainToASCII(text.slice(at + 1))}`
}

/** An e-mail address as typed into a form, normalised. */
export const emailAddress = addressOf("Enter an e-mail address like name@example.com.")

/** The same as a parameter of a request. */
export const emailParameter = addressOf("must be a whole e-mail address like name@example.com")

function addressOf(expected: string) {
  return z
    .string()
    .max(maxEmailLength, `An e-mail address has at most ${maxEmailLength} characters.`)
    .transform(normaliseEmail)
    .pipe(z.email(expected).max(maxEmailLength))
}
