import { z } from "zod"

/** The page fills it in, so the viewer cannot correct it. */
export function hidden<Schema extends z.ZodType>(schema: Schema): Schema {
  return schema.meta({ hidden: true })
}

/** Submitted twice, a form acts once. Kept when the form is refused: after a failed connection it may have acted. */
export const requestId = z.uuid().meta({ hidden: true, kept: true })

/** Never sent back to the page. */
export function secret<Schema extends z.ZodType>(schema: Schema): Schema {
  return schema.meta({ secret: true })
}

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

export function several<Schema extends z.ZodType<unknown, string[]>>(max: number, schema: Schema) {
  return z
    .string()
    .transform((text) => [...new Set(text.split(/[\n,]/).map((value) => value.trim()))].filter(Boolean))
    .pipe(z.array(z.string()).max(max, `Enter at most ${max} values.`))
    .pipe(schema)
}

/** The rows that a form acts on: the field `id`, once for each. */
export const rowIds = hidden(several(100, z.array(z.uuid()).min(1)))

/** A missing field, a file or a value that is not a form, which any client can send, becomes an empty string. */
export function textsOf({ shape }: z.ZodObject, data: unknown): Record<string, string> {
  const form = data instanceof FormData ? data : new FormData()
  const textOf = (name: string) =>
    form
      .getAll(name)
      .map((value) => text.parse(value))
      .join("\n")
  return Object.fromEntries(Object.keys(shape).map((name) => [name, textOf(name)]))
}
