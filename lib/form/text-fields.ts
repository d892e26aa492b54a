import { z } from "zod"

const text = z.string().catch("")

/**
 * The text fields of a form that a server action was called with; what is missing, a file, or no form at all, as anybody
 * may send, becomes an empty text.
 */
export function textFields<Name extends string>(data: unknown, ...names: Name[]): Record<Name, string> {
  const form = data instanceof FormData ? data : new FormData()
  return Object.fromEntries(names.map((name) => [name, text.parse(form.get(name))])) as Record<Name, string>
}
