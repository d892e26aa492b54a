import { z } from "zod"
import { env } from "@/lib/env"
import { consume } from "@/lib/platform/rate-limit/rate-limit"
import { plainParagraphs } from "@/lib/platform/schemas/text"
import { type Documented, exampleBody } from "./documents/document"
import { countsInWords } from "./result-words"

export const sampleMaxLength = 300

export const sampleForm = z.strictObject({ text: plainParagraphs({ name: "The text", max: sampleMaxLength }) })

/** A result without a run: no account, no credits, no database. The text is neither stored nor logged. */
export type Sample = { text: string; counts: readonly string[]; cost: number; response: unknown }

type SampleResult =
  | ({ ok: true } & Sample)
  | { ok: false; reason: "none" }
  | { ok: false; reason: "too_many"; retryAfterSeconds: number }

export async function runSample(
  endpoint: Documented | undefined,
  text: string,
  address: string,
): Promise<SampleResult> {
  const verdict = await consume("samplesAddress", address)
  if (!verdict.allowed) return { ok: false, reason: "too_many", retryAfterSeconds: verdict.resetSeconds }
  const sample = endpoint && sampleOf(endpoint, text)
  return sample ? { ok: true, ...sample } : { ok: false, reason: "none" }
}

/** By default, the text of the example body. Undefined if the endpoint has no sample. */
export function sampleOf(endpoint: Documented, text = exampleTextOf(endpoint)): Sample | undefined {
  const { metered, example } = endpoint
  if (!metered?.sample || text === undefined) return undefined
  const { result, cost } = metered.sample(text)
  const { data } = (example ?? {}) as { data?: object }
  const free = env().WELCOME_CREDITS
  const balance = free >= metered.maxCost ? { balance: free - cost } : {}
  const counts = countsInWords(metered.counts ?? {}, { ...(result as object) })
  return { text, counts, cost, response: { data: { ...data, cost, ...balance, result } } }
}

function exampleTextOf(endpoint: Documented): string | undefined {
  return Object.values(exampleBody(endpoint) ?? {}).find((value) => typeof value === "string")
}
