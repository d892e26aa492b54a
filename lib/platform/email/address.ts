import { domainToASCII } from "node:url"
import { z } from "zod"

const maxEmailLength = 254

/**
 * One spelling per mailbox: call it before every look-up and insert. Overlong input is truncated first, because the
 * time of normalization grows with the square of the length.
 */
export function normalizeEmail(input: string): string {
  const text = input.slice(0, maxEmailLength).normalize("NFKC").trim().toLowerCase()
  const at = text.lastIndexOf("@")
  if (at < 0) return text
  const domain = text.slice(at + 1)
  // A URL would end the domain at these, decode or drop them, and an address is whole or none.
  return `${text.slice(0, at)}@${/[/\\?#:%\s]/.test(domain) ? domain : domainToASCII(domain)}`
}

/** Services with one mailbox for several spellings. Google documents what it ignores; Proton has only confirmed it. */
const services = [
  { at: /@(?:gmail|googlemail)\.com$/, ignored: /\./g, domain: "gmail.com" },
  { at: /@(?:proton\.me|protonmail\.(?:com|ch)|pm\.me)$/, ignored: /[._-]/g, domain: "proton.me" },
]

/**
 * Limits count emails by it: these services deliver several spellings to one mailbox, and many servers ignore text
 * after a plus sign. Addresses with a plus sign never use up the limit of the plain address, which others know.
 */
export function mailboxOf(email: string): string {
  const service = services.find(({ at }) => at.test(email))
  const spelling = service
    ? `${email.replace(service.at, "").replaceAll(service.ignored, "")}@${service.domain}`
    : email
  return spelling.replace(/\+[^@]*@/, "+@")
}

export const emailAddress = addressOf(
  "Enter an email address like name@example.com.",
  `An email address can have at most ${maxEmailLength} characters.`,
)

export const emailParameter = addressOf(
  "must be a whole email address like name@example.com",
  `must have at most ${maxEmailLength} characters`,
)

function addressOf(expected: string, tooLong: string) {
  return z.string().max(maxEmailLength, tooLong).transform(normalizeEmail).pipe(z.email(expected).max(maxEmailLength))
}
