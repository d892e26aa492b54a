import { visible } from "./visible-text"

/** Without it, Excel on Windows reads UTF-8 as another encoding. */
export const byteOrderMark = "\uFEFF"

/** RFC 4180. */
export function csvLine(cells: readonly unknown[]): string {
  return `${cells.map(cellOf).join(",")}\r\n`
}

/** Text can be a formula at its start, and after a character that some spreadsheets treat as a separator. */
const formula = /(^(?=\s*[=+\-@＝＋－＠]|[\t\n])|[;\t\n](?=[=+\-@＝＋－＠\t\n]))/g

/** Most cells match, and this test is much faster than the rest. */
const plain = /^[A-Za-z0-9][\w .:@/+-]*$/

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return ""
  if (value instanceof Date) return value.toISOString()
  if (typeof value === "number" || typeof value === "boolean") return String(value)
  if (typeof value === "string" && plain.test(value)) return value
  const text = visible(typeof value === "string" ? value : JSON.stringify(value)).replaceAll(formula, "$1'")
  return /[",;\n']/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
