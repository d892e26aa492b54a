import { z } from "zod"
import { readBody } from "@/lib/api/body"
import { exampleBody } from "@/lib/api/documents/document"
import { routes } from "@/lib/api/endpoint"
import { objectEnvelope } from "@/lib/api/envelope"
import { ownObject } from "@/lib/api/object"
import { parseParameters } from "@/lib/api/query"
import { createdIntent, createRunIntent } from "@/lib/run-intents/run-intents"
import { meteredEndpoints } from "../../endpoints"
import { GET as run } from "../run/route"

const body = z.strictObject({
  // Its endpoint checks it.
  body: z.unknown().meta({
    type: "object",
    description: "The body of the metered call, as its endpoint describes it",
    examples: [exampleBody(run.endpoint)],
  }),
  call: z
    .string()
    .optional()
    .meta({
      description: "The path of the metered endpoint; it can be left out if there is only one",
      examples: ["/api/v1/me/run"],
    }),
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = routes(
  {
    ...ownObject,
    scope: "run",
    method: "POST",
    summary:
      "Checks the body of a metered call without making it, states the price and the balance, and returns an id that runs it once within ten minutes; charges nothing",
    body,
    errors: ["payload_too_large"],
    tool: { name: "create_run_intent", spends: false, isIdempotent: false, ofMetered: true },
    data: createdIntent,
    idempotency:
      "Without an `Idempotency-Key`: `POST /api/v1/me/run-intents` checks the body of a call and returns an id, and `POST /api/v1/me/run-intents/run` makes the call with that id. Any number of retries, also with other keys of the account, are charged once and get the same response.",
  },
  async (call) => {
    parseParameters(call.url.search, ownObject.parameters)
    const request = await readBody(call.request, body)
    return objectEnvelope(createdIntent.parse(await createRunIntent(call, await meteredEndpoints(), request)))
  },
)
