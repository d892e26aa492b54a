import { domainToASCII } from "node:url"
import { z } from "zod"

/** One spelling for one mailbox: NFKC, lower case, ASCII domain. Call it before every look-up and every insert. */
export function normaliseEmail(input: string): string {
  const text = input.normalize("NFKC").trim().toLowerCase()
  const at = text.lastIndexOf("@")
  return at < 0 ? text : `${text.slice(0, at)}@${domainToASCII(text.slice(at + 1))}`
}

/** An e-mail address as typed, normalised. */
export const emailAddress = z
  .string()
  .max(254, "An e-mail address has at most 254 characters.")
  .transform(normaliseEmail)
  .pipe(z.email("Enter an e-mail address like name@example.com.").max(254))
