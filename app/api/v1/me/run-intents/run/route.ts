import { z } from "zod"
import { readBody } from "@/lib/api/body"
import { routes } from "@/lib/api/endpoint"
import { meteredErrors } from "@/lib/api/metered"
import { ownObject } from "@/lib/api/object"
import { parseParameters } from "@/lib/api/query"
import { id, timestamp } from "@/lib/platform/schemas/fields"
import { runIntent } from "@/lib/run-intents/run-intents"
import { meteredEndpoints } from "../../../endpoints"

const body = z.strictObject({
  id: z.uuid().meta({
    description: "The id of a run intent of this account",
    examples: ["019ec7ba-2c00-7c01-9f3e-6d1f0a7c55e2"],
  }),
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = routes(
  {
    ...ownObject,
    scope: "run",
    method: "POST",
    summary:
      "Runs a run intent and charges its actual cost once; every further request with its id returns the same response, for 24 hours",
    body,
    errors: ["not_found", ...meteredErrors],
    tool: { name: "run", spends: true, isIdempotent: true },
    data: z.object({
      id: id.describe("The run; its ledger entries have this id as runId"),
      cost: z.int().min(0).describe("Credits that were charged, at most maxCost of the intent"),
      balance: z.int().min(0).describe("Credits left when the run was settled"),
      result: z.unknown().meta({ description: "As the metered endpoint returns it", "x-untrusted": true }),
      createdAt: timestamp,
    }),
  },
  async (call) => {
    parseParameters(call.url.search, ownObject.parameters)
    const { id } = await readBody(call.request, body)
    return runIntent(call, await meteredEndpoints(), id)
  },
)
