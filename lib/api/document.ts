import { z } from "zod"
import type { Endpoint } from "./endpoint"

/** An endpoint with what its folder says of it, as documents read it. */
export type Documented = Endpoint & {
  readonly path: string
  /** What it answers to its example request, whole. */
  readonly example: unknown
}

/** The query of an endpoint's example request. */
export function exampleSearch({ shape }: Endpoint): string {
  return shape === "list" ? "?limit=2" : ""
}

/** The part of JSON Schema that zod writes for our rows and parameters. */
export type JsonSchema = {
  type?: string | string[]
  format?: string
  description?: string
  enum?: (string | number)[]
  default?: string | number
  minimum?: number
  maximum?: number
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
      if (jsonSchema.format || jsonSchema.type === "integer") delete jsonSchema.pattern
    },
  })
  return described as JsonSchema
}
