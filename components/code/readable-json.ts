const lineLength = 64

export function readableJson(value: unknown, indent = ""): string {
  const line = inOneLine(value)
  if (typeof value !== "object" || value === null || indent.length + line.length <= lineLength) return line
  const inner = `${indent}  `
  const [open, close] = Array.isArray(value) ? "[]" : "{}"
  const parts = Array.isArray(value)
    ? value.map((item) => inner + readableJson(item, inner))
    : Object.entries(value).map(([name, item]) => `${inner}${JSON.stringify(name)}: ${readableJson(item, inner)}`)
  return `${open}\n${parts.join(",\n")}\n${indent}${close}`
}

function inOneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inOneLine).join(", ")}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const parts = Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${inOneLine(item)}`)
  return parts.length > 0 ? `{ ${parts.join(", ")} }` : "{}"
}
