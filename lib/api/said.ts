import { foreignSecret } from "@/lib/platform/text/foreign-secret"
import { anyPrefix } from "@/lib/surfaces"

/** `sent` goes to the client. `kept` goes to the request log: text of the client is in it only if `isPlain`. */
export class Said {
  constructor(
    readonly sent: string,
    readonly kept: string,
  ) {}
}

export const notKept = "(not kept)"

const name = /^[A-Za-z][A-Za-z0-9_.]{0,31}$/
const secret = new RegExp(`${anyPrefix}|^${foreignSecret}`, "i")
/** Random text has a digit soon, and names rarely do. Numbers of cards and telephones are long. */
const random = /^(?=.*\d).{16,}$|\d{5}/
const word = /^[a-z][a-z_]{0,15}$/

/** Names of fields and parameters are. Keys, addresses, tokens and sentences are not. */
export function isPlain(text: string): boolean {
  return name.test(text) && !secret.test(text) && !random.test(text)
}

/** A value that is one may be a misspelled choice. Most passwords and names of people are none. */
export function isWord(text: string): boolean {
  return word.test(text) && !secret.test(text)
}

/** A value is text of the client unless it is a number or in `ours`. */
export function said(parts: TemplateStringsArray, ...values: readonly (string | number | Said)[]): Said {
  let [sent = "", kept = ""] = [parts[0], parts[0]]
  for (const [index, value] of values.entries()) {
    const { sent: shown, kept: stored } = saidOf(value)
    const next = parts[index + 1]
    sent += shown + next
    kept += stored + next
  }
  return new Said(sent, kept)
}

function saidOf(value: string | number | Said): Said {
  if (value instanceof Said) return value
  return typeof value === "number" || isPlain(value) ? ours(String(value)) : new Said(value, notKept)
}

/** For the product's own text. */
export function ours(text: string): Said {
  return new Said(text, text)
}

/** @param shown without secrets, for the client */
export function quoted(text: string, shown = text, isKept = isPlain): Said {
  const short = shown.length > 60 ? `${shown.slice(0, 60)}…` : shown
  return new Said(JSON.stringify(short), isKept(text) ? JSON.stringify(text) : notKept)
}

export function joined(all: readonly Said[]): Said {
  return new Said(all.map(({ sent }) => sent).join(", "), all.map(({ kept }) => kept).join(", "))
}

/** A message of a schema, which may repeat the value that it refused. */
export function saidAbout(value: unknown, message: string): Said {
  return new Said(message, repeats(message.toLowerCase(), value) ? notKept : message)
}

function repeats(message: string, value: unknown): boolean {
  const texts = leavesOf(value).flatMap((text) => (isPlain(text) ? [] : [text.toLowerCase()]))
  const words = message.split(/[\s"'`,;:()]+/).filter((word) => word.length >= 4 && !isPlain(word.replace(/\.$/, "")))
  return texts.some((text) => (text.length >= 4 && message.includes(text)) || words.some((word) => text.includes(word)))
}

function leavesOf(value: unknown): string[] {
  if (typeof value === "object" && value !== null)
    return Object.entries(value).flatMap(([name, of]) => [name, ...leavesOf(of)])
  return [String(value)]
}
