import fc from "fast-check"
import type { JsonSchema } from "@/lib/api/document"

/** The valid values of a query parameter, by its JSON schema. Times and cursors are not included. */
export function valuesOf(name: string, { enum: values, type, format, pattern, ...schema }: JsonSchema) {
  if (values) return fc.constantFrom(...values.map(String))
  if (type === "integer") return fc.integer({ min: schema.minimum ?? 0, max: schema.maximum ?? 0 }).map(String)
  if (format === "uuid") return fc.uuid()
  if (pattern) return fc.stringMatching(new RegExp(pattern))
  if (name === "email") return fc.stringMatching(/^[a-z0-9]{1,20}@[a-z]{1,10}\.[a-z]{2,5}$/)
  throw new Error(`no valid values are defined for the parameter ${name}: add them here`)
}
