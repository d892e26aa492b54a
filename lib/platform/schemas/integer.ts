import { z } from "zod"

/** Number() would also accept `0x10`, `1e2` and ` 5 `. */
export function integer(min: number, max: number, hint = "") {
  const error = `must be an integer from ${min} to ${max}${hint}`
  return z
    .string()
    .regex(/^(0|[1-9]\d{0,9})$/, error)
    .transform(Number)
    .pipe(z.number().min(min, error).max(max, error))
    .meta({ type: "integer", minimum: min, maximum: max })
}
