import { visible } from "./visible-text"

/** What a file for people starts with: without it, Excel on Windows reads UTF-8 as another encoding. */
export const byteOrderMark = "\uFEFF"

/** A line of CSV (RFC 4180). */
export function csvLine(cells: readonly unknown[]): string {
  return `${cells.map(cellOf).join(",")}\r\n`
}

/** Where a spreadsheet could take text for a formula: at its start, and after what some take for a separator. */
const formula = /(^(?=\s*[=+\-@＝＋－＠]|[\t\n])|[;\t\n](?=[=+\-@＝＋－＠\t\n]))/g

/** Nothing in it needs a symbol, quotes or an apostrophe. Most cells are so, and this is found much faster than the rest. */
const plain = /^[A-Za-z0-9][\w .:@/+-]*$/

/** Times are in ISO 8601, lists and objects in JSON; characters that are invisible are symbols. */
function cellOf(value: unknown): string {
  if (value === null || value === undefined) return ""
  if (value instanceof Date) return value.toISOString()
  if (typeof value === "number" || typeof value === "boolean") return String(value)
  if (typeof value === "string" && plain.test(value)) return value
  const text = visible(typeof value === "string" ? value : JSON.stringify(value)).replaceAll(formula, "$1'")
  return /[",;\n']/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
