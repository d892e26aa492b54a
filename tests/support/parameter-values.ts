import fc from "fast-check"
import type { JsonSchema } from "@/lib/api/documents/document"

/** Whether a query parameter is a time, by its name. */
export function isTime(name: string): boolean {
  return /(^s|S)ince$|(^u|U)ntil$/.test(name)
}

/** The valid values of a query parameter, by its JSON schema. Cursors are not included. */
export function valuesOf(name: string, { enum: values, type, format, pattern, ...schema }: JsonSchema) {
  if (isTime(name)) return fc.constantFrom("2026-01-01", "2026-01-01T12:00:00Z", "1767225600000")
  if (name === "q") return fc.stringMatching(/^[a-zé王]{3,20}$/)
  if (values) return fc.constantFrom(...values.map(String))
  if (type === "integer") return fc.integer({ min: schema.minimum ?? 0, max: schema.maximum ?? 0 }).map(String)
  if (format === "uuid") return fc.uuid()
  if (pattern) return fc.stringMatching(new RegExp(pattern))
  if (name === "email") return fc.stringMatching(/^[a-z0-9]{1,20}@[a-z]{1,10}\.[a-z]{2,5}$/)
  throw new Error(`no valid values are defined for the parameter ${name}: add them here`)
}
