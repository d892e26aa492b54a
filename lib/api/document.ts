import { z } from "zod"
import type { Endpoint } from "./endpoint"

/** An endpoint with the path that its folder gives it, as documents read it. */
export type Documented = Endpoint & { readonly path: string }

/** The part of JSON Schema that zod writes for our rows and parameters. */
export type JsonSchema = {
  type?: string | string[]
  format?: string
  description?: string
  enum?: (string | number)[]
  anyOf?: JsonSchema[]
  items?: JsonSchema
  properties?: Record<string, JsonSchema>
  required?: string[]
  "x-untrusted"?: boolean
}

/** What leaves for a schema of rows, or what arrives for one of parameters. */
export function jsonSchemaOf(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  const { $schema: _dialect, ...described } = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    override: ({ jsonSchema }) => {
      // zod bounds every integer by what JavaScript can hold, which says nothing about the field.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      if (jsonSchema.format) delete jsonSchema.pattern
    },
  })
  return described as JsonSchema
}
