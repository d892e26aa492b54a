import { z } from "zod"

/** A field that the page fills in; the viewer cannot correct it. */
export function hidden<Schema extends z.ZodType>(schema: Schema): Schema {
  return schema.meta({ hidden: true })
}

/**
 * The id that a form was rendered with, so that submitting it twice acts once. It is kept when the form is refused,
 * because after a failed connection to the database it is unknown whether the form acted.
 */
export const requestId = z.uuid().meta({ hidden: true, kept: true })

/** A password: never sent back to the page. */
export function secret<Schema extends z.ZodType>(schema: Schema): Schema {
  return schema.meta({ secret: true })
}

/** A field that may be left empty; then it is `null`. */
export function optional<Schema extends z.ZodType<unknown, string>>(schema: Schema) {
  return z
    .string()
    .transform((text) => (text.trim() === "" ? null : text))
    .pipe(schema.nullable())
}

export function isHidden(fields: z.ZodObject, name: string): boolean {
  return metaOf(fields, name)?.hidden === true
}

export function isSecret(fields: z.ZodObject, name: string): boolean {
  return metaOf(fields, name)?.secret === true
}

export function isShownAgain(fields: z.ZodObject, name: string): boolean {
  const meta = metaOf(fields, name)
  return meta?.kept === true || (!meta?.hidden && !meta?.secret)
}

function metaOf({ shape }: z.ZodObject, name: string) {
  return Object.hasOwn(shape, name) ? (shape[name] as z.ZodType).meta() : undefined
}

const text = z.string().catch("")

/** A field of several values, one per line or separated by commas, or of several checkboxes; each counts once. */
export function several<Schema extends z.ZodType<unknown, string[]>>(max: number, schema: Schema) {
  return z
    .string()
    .transform((text) => [...new Set(text.split(/[\n,]/).map((value) => value.trim()))].filter(Boolean))
    .pipe(z.array(z.string()).max(max, `Enter at most ${max} values.`))
    .pipe(schema)
}

/**
 * The texts of the form that a server action was called with, for each of its fields; of several checkboxes a line each.
 * A missing field, a file or a value that is not a form, which any client can send, becomes an empty string.
 */
export function textsOf({ shape }: z.ZodObject, data: unknown): Record<string, string> {
  const form = data instanceof FormData ? data : new FormData()
  const textOf = (name: string) =>
    form
      .getAll(name)
      .map((value) => text.parse(value))
      .join("\n")
  return Object.fromEntries(Object.keys(shape).map((name) => [name, textOf(name)]))
}
