import { z } from "zod"

const text = z.string().catch("")

/**
 * The named text fields of the form that a server action was called with. A missing field, a file or a value that is
 * not a form, which any client can send, becomes an empty string.
 */
export function textFields<Name extends string>(data: unknown, ...names: Name[]): Record<Name, string> {
  const form = data instanceof FormData ? data : new FormData()
  return Object.fromEntries(names.map((name) => [name, text.parse(form.get(name))])) as Record<Name, string>
}
