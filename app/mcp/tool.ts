import type { ServedEndpoint } from "@/app/api/v1/endpoints"
import type { JsonSchema } from "@/lib/api/documents/document"
import { refuseAs } from "@/lib/api/errors"
import { ours, quoted, said } from "@/lib/api/said"
import { kinds } from "@/lib/surfaces"

export type Arguments = Readonly<Record<string, unknown>>

export type Tool = {
  description: string
  /** Only a list needs them. */
  properties: () => Readonly<Record<string, JsonSchema>>
  required?: readonly string[]
  annotations: { readOnlyHint: boolean; destructiveHint?: boolean; idempotentHint: boolean; openWorldHint: boolean }
  /** @returns JSON. @throws Refusal */
  call: (given: Arguments) => Promise<string>
}

/** By name, made only if needed. Undefined if the key may not call it. */
export type Tools = Readonly<Record<string, () => Tool | undefined>>

export const reading = { readOnlyHint: true, idempotentHint: true, openWorldHint: false }

/** The name of a list in tools: the end of its path. */
export function datasetOf({ path, surface }: ServedEndpoint): string {
  return path.slice(kinds[surface].api.length + 1)
}

/** The arguments as parameters of a query. @throws Refusal 400 that names the accepted ones */
export function queryOf(
  given: unknown,
  accepted: readonly string[],
  kind: "argument" | "filter" = "argument",
): Record<string, string> {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    return refuseAs("bad_request", said`${`${kind}s`} must be an object.`)
  }
  return Object.fromEntries(
    sentOf(given).map(([name, value]) => {
      if (!accepted.includes(name)) {
        const names = accepted.length > 0 ? `Accepted: ${accepted.join(", ")}.` : "None are accepted."
        return refuseAs("bad_request", said`Unknown ${kind} ${quoted(name)}. ${ours(names)}`)
      }
      const values = Array.isArray(value) ? value : [value]
      if (!values.every(isPlainValue)) {
        return refuseAs("bad_request", said`${name} must be text, a number, true or false, or a list of these.`)
      }
      return [name, values.join(",")]
    }),
  )
}

/** Models send null for an argument that they leave out. */
export function sentOf(given: object): [string, unknown][] {
  return Object.entries(given).filter(([, value]) => value !== null)
}

function isPlainValue(value: unknown): boolean {
  return ["string", "number", "boolean"].includes(typeof value)
}
