/** A line of CSV (RFC 4180). */
export function csvLine(cells: readonly unknown[]): string {
  return `${cells.map(cellOf).join(",")}\r\n`
}

/** Where a spreadsheet could take text for a formula: at its start, and after what some take for a separator. */
const formula = /(^|[;\t\r\n])(?=[=+\-@＝＋－＠\t\r\n])/g

/** Times are in ISO 8601, lists and objects in JSON. */
function cellOf(value: unknown): string {
  if (value === null || value === undefined) return ""
  if (value instanceof Date) return value.toISOString()
  if (typeof value === "number" || typeof value === "boolean") return String(value)
  const text = (typeof value === "string" ? value : JSON.stringify(value)).replaceAll(formula, "$1'")
  return /[",;\r\n']/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
