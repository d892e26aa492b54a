import { plainPunctuation } from "@/lib/platform/text/typed-punctuation"
import { anyPrefix } from "@/lib/surfaces"

export type Finding = {
  group: "On this page" | "Recent" | "Pages" | "Actions" | "Requests" | "Accounts" | "Keys" | "Documents"
  label: string
  note?: string
  /** Further words that find it, from their first letter. */
  keywords?: string
  /** A page, an email address, or the selector of a button of the account menu, which starts with #. */
  href: string
}

export type Group = { value: Finding["group"]; items: readonly Finding[] }

/** Labels that match come first, then keywords. The server's findings are last: a late response moves no other finding. */
export function groupsOf(local: readonly Finding[], found: readonly Finding[], text: string): Group[] {
  const words = plainPunctuation(text).toLowerCase().split(" ")
  const ranked = ([0, 1] as const).flatMap((rank) => local.filter((finding) => rankOf(finding, words) === rank))
  const all = [...ranked, ...found]
  return [...new Set(all.map(({ group }) => group))].map((value) => ({
    value,
    items: all.filter(({ group }) => group === value),
  }))
}

/** 0 if the label has every word, 1 if keywords have the others. */
function rankOf({ label, keywords = "" }: Finding, words: readonly string[]): 0 | 1 | undefined {
  const others = words.filter((word) => !label.toLowerCase().includes(word))
  if (others.length === 0) return 0
  return others.every((word) => ` ${keywords}`.includes(` ${word}`)) ? 1 : undefined
}

const wholeKey = new RegExp(`(${anyPrefix}\\w{4})\\w*`)

/** No key leaves the field: its first characters replace it, and are enough to find it. */
export function withoutKey(text: string): string {
  return text.replace(wholeKey, "$1")
}
